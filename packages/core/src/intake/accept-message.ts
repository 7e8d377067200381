import { Batcher } from '../batching/batcher.ts';
import type { Clock, Ids } from '../clock.ts';
import { AppError, assertNever, type HttpErrorCode, type StoreError } from '../errors.ts';
import {
  type AttachmentId,
  type BootId,
  type EventId,
  formatId,
  type LaneRef,
  parseId,
  type TenantId,
} from '../ids.ts';
import { computeKey } from '../keys/compute.ts';
import type { AccountConfig, AgentConfig, TenantConfig } from '../ports/configs.ts';
import type { AcceptItem, AcceptResult, EventBody, IntakeStore, Source } from '../ports/intake.ts';
import type { ParkedEvent } from '../ports/parked-events.ts';
import type { CrashPoints } from '../ports/runtime.ts';
import type { LiveStream, WakeUp, WakeUps } from '../ports/signals.ts';
import type { EventKind } from '../states.ts';
import { LaneAddresses } from './lane-addresses.ts';
import type { QueuedEstimate } from './queued-estimate.ts';

/** A message as an ingress hands it over: parsed, cleaned, authorised; whose it is and who answers is known. */
export interface InboundMessage {
  readonly tenant: Pick<TenantConfig, 'tenantId' | 'name' | 'limits'>;
  readonly agent: Pick<AgentConfig, 'agentId' | 'name' | 'keyPolicy'>;
  /** The reply is owed through it; null: proven by the commit. */
  readonly account: Pick<AccountConfig, 'accountId' | 'name'> | null;
  /**
   * A source, whose key the agent's policy computes; or a key of at most 512 bytes that names a lane, or makes one of
   * platform `api`; or both, where a channel has its own rule.
   */
  readonly target: { readonly source: Source; readonly sessionKey?: string } | { readonly sessionKey: string };
  readonly kind: EventKind;
  readonly content: Omit<EventBody, 'source'>;
  /** Files that the content names. */
  readonly uses?: readonly AttachmentId[];
  /** Null: the message is new whatever it says. */
  readonly idempotency: AcceptItem['dedupe'] | null;
  readonly traceparent: string | null;
  /** `answer` throws a quota's refusal; `store` keeps the message as a run that ended `refused`, for platforms. */
  readonly onQuota: 'answer' | 'store';
  /** A quota that the caller has already found used up; only with `store`. */
  readonly refusal?: HttpErrorCode;
}

export interface Acceptance {
  readonly status: 'accepted' | 'duplicate';
  /** Of a duplicate: the first acceptance's, and its lane's. */
  readonly eventId: EventId;
  readonly lane: LaneRef;
  readonly partition: number;
  readonly sessionKey: string;
  /** Unfinished events of the lane before this one. */
  readonly position: number;
  /** Why the stored run ended `refused`; null when it is queued, or a duplicate. */
  readonly refused: HttpErrorCode | null;
}

export interface AcceptMessageOptions {
  /** This ingress. */
  readonly nodeId: BootId;
  readonly intake: Pick<IntakeStore, 'accept'>;
  readonly wakeUps: WakeUps;
  readonly queued: QueuedEstimate;
  /** slot → partition, now. */
  readonly partitionOf: (slot: number) => number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly crashPoints: CrashPoints;
  /** Readers of a lane are told what was accepted. */
  readonly live?: Pick<LiveStream, 'isWatched' | 'publish'>;
  /** Told of every batch: its size, and how long its first item waited, milliseconds. */
  readonly observe?: (size: number, waitMs: number) => void;
}

const BATCH_ITEMS_MAX = 400;
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
const WAITING_ITEMS_MAX = 20_000;
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** What a row costs besides its text. */
const ITEM_BYTES = 1024;
const RETRY = { attemptsMax: 6, baseMs: 25, capMs: 500 };
/** After this a caller is told `store_unavailable`; the outcome is then unknown to it. */
const ACCEPT_DEADLINE_MS = 5_000;

interface Waiting {
  readonly item: AcceptItem;
  readonly bytes: number;
}

/**
 * The use case behind every door: a message becomes a stored event of its lane, and the lane's owner is told.
 *
 *   key and slot → queue caps → group commit (commit point 1) → wake-up → answer
 *
 * One flush is in flight per ingress and is repeated, with the ids it was given, before the next one starts: so arrival
 * order is kept and a lost COMMIT answer stores nothing twice. A duplicate wakes its lane again, for the first try may
 * have died before its wake-up. What is refused leaves no trace, unless `onQuota` says `store`.
 */
export class AcceptMessage {
  readonly #options: AcceptMessageOptions;
  readonly #addresses = new LaneAddresses();
  readonly #batcher: Batcher<Waiting, AcceptResult>;
  #waitingBytes = 0;
  #isClosed = false;

  constructor(options: AcceptMessageOptions) {
    this.#options = options;
    const { clock, ids, observe } = options;
    this.#batcher = new Batcher<Waiting, AcceptResult>({
      name: 'accept',
      flush: (batch) => this.#flush(batch),
      itemsMax: BATCH_ITEMS_MAX,
      bytesMax: BATCH_BYTES_MAX,
      bytesOf: (waiting) => waiting.bytes,
      queueMax: WAITING_ITEMS_MAX,
      clock,
      ids,
      onRowError: (_waiting, error) => refuseRow(error),
      retry: RETRY,
      ...(observe === undefined ? {} : { observe }),
    });
  }

  /**
   * Resolves after the commit.
   * @throws AppError `malformed_key`, `idempotency_mismatch`, `lane_full`, `tenant_queue_full`, `invalid_field` (the
   *   store cannot hold it), `overloaded` or `draining`: nothing was stored. StoreError: it may have been stored, repeat
   *   with the same idempotency key.
   */
  async accept(message: InboundMessage): Promise<Acceptance> {
    const { tenant, onQuota } = message;
    const refused = message.refusal ?? this.#queueRefusal(tenant);
    if (refused !== null && onQuota === 'answer') throw quotaError(refused);
    const item = this.itemOf(message);
    const answer = await this.#store(refused === null ? item : { ...item, refused: { code: refused } });
    if (answer.result !== 'lane_full') return this.#acceptance(item, answer, refused);
    if (onQuota === 'answer') throw quotaError('lane_full');
    const stored = await this.#store({ ...item, refused: { code: 'lane_full' } });
    return this.#acceptance(item, stored, 'lane_full');
  }

  /**
   * Accepts a parked event once more, byte for byte, behind what waits in its lane. Of one event once, for as
   * long as dedupe keys are kept: a repetition is answered as its duplicate.
   * @throws AppError, StoreError as `accept`
   */
  async replay(parked: ParkedEvent, tenant: InboundMessage['tenant']): Promise<Acceptance> {
    const refused = this.#queueRefusal(tenant);
    if (refused !== null) throw quotaError(refused);
    const { eventId, slot, tenantId, laneId, agentId, sessionKey, kind, accountId, body } = parked;
    const uses = filesOf(body);
    const item: AcceptItem = {
      ...{ slot, tenantId, laneId, agentId, sessionKey, kind, accountId, body },
      eventId: this.#options.ids.next() as EventId,
      dedupe: { scope: NO_SCOPE, key: `replay:${eventId}`, bodyHash: NO_HASH },
      laneCap: tenant.limits.queuedPerLane,
      traceparent: null,
      ...(uses.length > 0 && { uses }),
    };
    return this.#acceptance(item, await this.#store(item), null);
  }

  /** Where `accept` would put the message. @throws AppError `malformed_key` */
  laneOf(message: Pick<InboundMessage, 'tenant' | 'agent' | 'account' | 'target'>): LaneRef {
    const { tenantId } = message.tenant;
    return { tenantId, ...this.#addresses.of(message.tenant, message.agent, placeOf(message).sessionKey) };
  }

  /** What `accept` would store, with an id of its own each time. @throws AppError `malformed_key` */
  itemOf(message: InboundMessage): AcceptItem {
    const { tenant, agent, account, kind, content, uses = [], idempotency, traceparent } = message;
    const { source, sessionKey } = placeOf(message);
    const { laneId, slot } = this.#addresses.of(tenant, agent, sessionKey);
    const eventId = this.#options.ids.next() as EventId;
    return {
      slot,
      tenantId: tenant.tenantId,
      laneId,
      agentId: agent.agentId,
      sessionKey,
      eventId,
      kind,
      accountId: account?.accountId ?? null,
      body: { ...content, source },
      dedupe: idempotency ?? { scope: NO_SCOPE, key: `evt:${eventId}`, bodyHash: NO_HASH },
      laneCap: tenant.limits.queuedPerLane,
      traceparent,
      ...(uses.length > 0 && { uses }),
    };
  }

  /** Whether `accept` would not queue the message now, whatever its lane holds: then it is for `accept` to say so. */
  refuses({ tenant, refusal }: Pick<InboundMessage, 'tenant' | 'refusal'>): boolean {
    return this.#isClosed || (refusal ?? this.#queueRefusal(tenant)) !== null;
  }

  /** A message that `itemOf` made was queued by somebody else's transaction: it counts as accepted. */
  noteQueued(tenantId: TenantId): void {
    this.#options.queued.add(tenantId);
  }

  /** Whether messages wait to be stored, and how many tries to store some were answered so far. */
  get progress(): { readonly isDue: boolean; readonly steps: number } {
    return this.#batcher.progress;
  }

  /** Refuses new messages and stores those it has. */
  close(deadlineMs: number): Promise<void> {
    this.#isClosed = true;
    return this.#batcher.close(deadlineMs);
  }

  #queueRefusal({ tenantId, limits }: InboundMessage['tenant']): HttpErrorCode | null {
    return this.#options.queued.of(tenantId) >= limits.queuedPerTenant ? 'tenant_queue_full' : null;
  }

  async #store(item: AcceptItem): Promise<AcceptResult> {
    const bytes = bytesOf(item);
    if (this.#waitingBytes + bytes > WAITING_BYTES_MAX) throw overloaded();
    this.#waitingBytes += bytes;
    try {
      return await this.#batcher.add({ item, bytes }, { deadlineMs: ACCEPT_DEADLINE_MS });
    } finally {
      this.#waitingBytes -= bytes;
    }
  }

  async #flush(batch: readonly Waiting[]): Promise<readonly AcceptResult[]> {
    const { crashPoints, intake, nodeId } = this.#options;
    const items = batch.map((waiting) => waiting.item);
    crashPoints.hit('accept.before-commit');
    const results = await intake.accept(nodeId, items);
    crashPoints.hit('accept.after-commit');
    for (const [i, item] of items.entries()) this.#announce(item, results[i]);
    this.#wake(items, results);
    return results;
  }

  #announce(item: AcceptItem, answer: AcceptResult | undefined): void {
    const { live, clock } = this.#options;
    if (live === undefined || answer?.result !== 'accepted' || item.refused !== undefined) return;
    const lane = laneOf(item);
    if (!live.isWatched(lane)) return;
    const { eventId, kind, sessionKey, body } = item;
    const [runId, clientId] = [formatId('run', eventId), body.platformMessageId];
    const data = { eventId: formatId('evt', eventId), runId, kind, position: answer.position };
    live.publish(lane, {
      ...{ type: 'event.accepted', at: new Date(clock.nowMs()).toISOString(), sessionKey, runIds: [runId] },
      data: clientId === undefined ? data : { ...data, clientId },
    });
  }

  /** One call per partition and batch. */
  #wake(items: readonly AcceptItem[], results: readonly AcceptResult[]): void {
    const byPartition = new Map<number, WakeUp[]>();
    for (const [i, item] of items.entries()) {
      const wakeUp = wakeUpOf(item, results[i]);
      if (wakeUp === null) continue;
      const partition = this.#options.partitionOf(wakeUp.lane.slot);
      const known = byPartition.get(partition);
      if (known === undefined) byPartition.set(partition, [wakeUp]);
      else known.push(wakeUp);
    }
    if (byPartition.size > 0) this.#options.crashPoints.hit('activate.before');
    for (const [partition, wakeUps] of byPartition) this.#options.wakeUps.wake(partition, wakeUps);
  }

  #acceptance(item: AcceptItem, answer: AcceptResult, refused: HttpErrorCode | null): Acceptance {
    const { sessionKey } = item;
    switch (answer.result) {
      case 'accepted': {
        if (refused === null) this.#options.queued.add(item.tenantId);
        const lane = laneOf(item);
        const partition = this.#options.partitionOf(lane.slot);
        const { position } = answer;
        return { status: 'accepted', eventId: item.eventId, lane, partition, sessionKey, position, refused };
      }
      case 'duplicate': {
        const { eventId, lane, position } = answer;
        const partition = this.#options.partitionOf(lane.slot);
        return { status: 'duplicate', eventId, lane, partition, sessionKey, position, refused: null };
      }
      case 'mismatch':
        throw new AppError({
          code: 'idempotency_mismatch',
          message: 'the idempotency key was used before with another body; use a new key for a new message',
        });
      case 'lane_full':
        throw quotaError('lane_full');
      default:
        return assertNever(answer);
    }
  }
}

/** Scope of events without an idempotency key: their dedupe key is their own id, so it can stand in one scope. */
const NO_SCOPE = '00000000-0000-0000-0000-000000000000';
const NO_HASH = new Uint8Array(32);

interface Place {
  readonly source: Source;
  readonly sessionKey: string;
}

/** A lane that is made by its key has this source (surface §3). */
function placeOf({ target, agent, account }: Pick<InboundMessage, 'target' | 'agent' | 'account'>): Place {
  if (!('source' in target)) {
    const { sessionKey } = target;
    return { source: { platform: 'api', chatType: 'dm', chatId: sessionKey }, sessionKey };
  }
  const { source, sessionKey } = target;
  if (sessionKey !== undefined) return { source, sessionKey };
  const accountName = account?.name ?? null;
  return {
    source,
    sessionKey: computeKey({ source, policy: agent.keyPolicy, agentName: agent.name, accountName }).key,
  };
}

/** The files that a stored message names. */
function filesOf({ attachments = [] }: EventBody): AttachmentId[] {
  const refs = attachments.map((one) => (typeof one === 'object' && one !== null && 'ref' in one ? one.ref : null));
  const ids = refs.map((ref) => (typeof ref === 'string' ? parseId<AttachmentId>(ref, 'att') : null));
  return [...new Set(ids.filter((id) => id !== null))];
}

function laneOf({ slot, tenantId, laneId }: LaneRef): LaneRef {
  return { slot, tenantId, laneId };
}

function wakeUpOf(item: AcceptItem, answer: AcceptResult | undefined): WakeUp | null {
  if (answer?.result === 'duplicate') return { lane: answer.lane, ord: null };
  if (answer?.result !== 'accepted' || item.refused !== undefined) return null;
  return { lane: laneOf(item), ord: answer.ord };
}

/** An estimate from above: a UTF-16 unit is at most three bytes of UTF-8. Metadata and attachments are counted as JSON. */
function bytesOf({ body }: AcceptItem): number {
  const { attachments, metadata, before } = body;
  const extra = (attachments ?? metadata ?? before) === undefined ? 0 : jsonLength(body);
  return ITEM_BYTES + 3 * (body.text.length + extra);
}

function jsonLength({ attachments, metadata, before }: EventBody): number {
  return JSON.stringify([attachments, metadata, before]).length;
}

function refuseRow(error: StoreError): never {
  throw new AppError({
    code: 'invalid_field',
    message: 'the store cannot hold a value of this message',
    cause: error,
  });
}

function quotaError(code: HttpErrorCode): AppError {
  return new AppError({
    code,
    retryable: true,
    retryAfterMs: 1000,
    message:
      code === 'lane_full'
        ? 'too many messages wait in this conversation; nothing was accepted'
        : 'too many messages of this tenant wait; nothing was accepted',
  });
}

function overloaded(): AppError {
  return new AppError({
    code: 'overloaded',
    retryable: true,
    retryAfterMs: 1000,
    message: 'this node holds all the messages it may; nothing was accepted, try again later',
  });
}
