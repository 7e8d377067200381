import { Batcher } from '../batching/batcher.ts';
import type { Clock, Ids } from '../clock.ts';
import { AppError, StoreError } from '../errors.ts';
import { type AccountId, type BootId, formatId, type LaneId, type LaneRef } from '../ids.ts';
import type { DeliverySettlement, DeliveryStore, DueDelivery } from '../ports/delivery.ts';
import type { ClaimedTurn, CommitRequest } from '../ports/lane.ts';
import type { Counter, CrashPoints, Histogram, Logger } from '../ports/runtime.ts';
import type { LiveStream } from '../ports/signals.ts';
import type { Lease } from '../session/lease.ts';
import type { CommittedResult, Replies } from '../session/run-lane-options.ts';
import { AccountPauses } from './account-pauses.ts';
import { type SendOutcome, settleSend } from './retry.ts';

export interface ReplyDelivererOptions {
  readonly bootId: BootId;
  readonly store: DeliveryStore;
  readonly channels: ReplyChannels;
  readonly lease: Lease;
  /** A turn of the lane may be about to be committed, and its reply to be taken in hand. */
  readonly laneIsBusy: (laneId: LaneId) => boolean;
  /** Partitions whose deliveries are this worker's. */
  readonly partitions: () => readonly number[];
  /** Rows in hand at once: being sent, or recorded. */
  readonly sendsMax: number;
  /**
   * Of one account, about: above it no more rows of it are taken, so that a slow receiver does not take all places. A
   * statement that takes several rows at once may pass it.
   */
  readonly sendsPerAccountMax: number;
  /** Readers of a lane are told what became of its deliveries. */
  readonly live: Pick<LiveStream, 'isWatched' | 'publish'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly crashPoints: CrashPoints;
  readonly metrics: DeliveryMetrics;
}

/** The ways out. */
export interface ReplyChannels {
  /** False: nothing can be sent through the account, so its replies are proven by their commit. @throws StoreError */
  canSend(lane: LaneRef, accountId: AccountId): Promise<boolean>;
  /**
   * One attempt. Resolves only with what it proved; waits while the account cannot be read. Null: this worker ends and
   * nothing was sent.
   */
  send(delivery: DueDelivery, gate: SendGate, signal: AbortSignal): Promise<SentReply | null>;
}

/** What stands between a reply and its first byte: a worker that may have been declared dead sends nothing. */
export interface SendGate {
  /** Waits until the lease is safe; false means that this worker ends. To be asked before the way out is taken. */
  mayBegin(): Promise<boolean>;
  /**
   * To be asked again in the moment before the first byte is written, when name and connection stand: the process may
   * have been stopped for any time since.
   */
  mayStillBegin(): boolean;
}

export interface SentReply {
  /** The account's channel, for metrics. */
  readonly platform: string;
  readonly outcome: SendOutcome;
  /** The account wants its replies to be sent until they are proven to have arrived. */
  readonly ledgerEnabled: boolean;
}

export interface DeliveryMetrics {
  readonly attempts: Counter;
  /** By `platform` and `state`. */
  readonly deliveries: Counter;
  readonly delaySeconds: Histogram;
  /** By `at`. */
  readonly staleFences: Counter;
}

const CLAIM_MAX = 400;
/** Lanes that are known to have due rows; what is above it the next look finds. */
const HINTS_MAX = 10_000;
const LOOK_MS = 2_000;
const LOOK_MS_MIN = 50;
const AGAIN_MS = 500;
/** Longer than any answer takes. */
const UNHEARD_MS = 10_000;

/**
 * Sends what committed turns owe (protocol: deliver).
 *
 * ```
 *  commit ─┬─ inserted as `sending` for this worker ──────────────┐
 *          └─ `pending` ─ hint, or look every 2 s ─ claimDue ─────┴─► in hand: lease check ─► one send ─► settle
 * ```
 * A row is `sending`, durably and in this worker's name, before its first byte leaves, and a conversation's next row is
 * not taken before the one before it is settled: both are the store's promise, so order and at most one sender hold
 * whatever this process does. The lease check right before the send keeps a worker that may be taken for dead from
 * sending; one that is stopped between check and send can still send late, and its row is `unknown` by then.
 * A settlement is repeated until it is answered. A row whose marking was never heard of, because `claimDue` got no answer, is
 * given back unsent a little later. An account whose platform asked for a wait is paused: its rows stay `pending`, in their
 * order, and spend no try.
 */
export class ReplyDeliverer implements Replies {
  readonly #options: ReplyDelivererOptions;
  readonly #settlements: Batcher<DeliverySettlement, boolean>;
  /** Lanes with a row in hand; true = look for the next one afterwards. */
  readonly #lanes = new Map<LaneId, boolean>();
  readonly #perAccount = new Map<AccountId, number>();
  readonly #hints = new Map<LaneId, LaneRef>();
  readonly #stop = new AbortController();
  readonly #gate: SendGate = {
    mayBegin: () => this.#mayBegin(),
    mayStillBegin: () => this.#options.lease.isSafe && !this.#stop.signal.aborted,
  };
  /** Accounts with as many rows in hand as they may have. */
  readonly #full = new Set<AccountId>();
  readonly #pauses: AccountPauses;
  #inHand = 0;
  #claiming = false;
  /** When a `claimDue` got no answer; null = all were answered. */
  #unheardMs: number | null = null;
  #wake = new AbortController();
  #onIdle: (() => void) | undefined;

  constructor(options: ReplyDelivererOptions) {
    this.#options = options;
    const { bootId, store, clock, ids, log } = options;
    this.#pauses = new AccountPauses({ store, clock, log });
    this.#settlements = new Batcher<DeliverySettlement, boolean>({
      ...{ name: 'settle', clock, ids, itemsMax: CLAIM_MAX, queueMax: Number.POSITIVE_INFINITY },
      retry: { attemptsMax: 4, baseMs: 25, capMs: 500 },
      flush: (items) => store.settle(bootId, items),
      onRowError: () => undefined,
    });
  }

  async owedFor({ lane, events }: ClaimedTurn): Promise<CommitRequest['owed']> {
    const accountId = events[0]?.accountId ?? null;
    if (accountId === null) return { kind: 'proven' };
    if (!(await this.#canSend(lane, accountId))) return { kind: 'proven' };
    return { kind: 'send', accountId, sendNow: this.#hasRoom(accountId) };
  }

  committed(turn: ClaimedTurn, request: CommitRequest, result: CommittedResult): void {
    if (result.delivery === 'pending') this.due(turn.lane);
    if (result.delivery !== 'sending' || request.owed?.kind !== 'send' || request.reply === null) return;
    const [first] = turn.events;
    this.#takeInHand(
      {
        ...{ lane: turn.lane, seq: result.seq, n: 0, messageId: request.messageId, attempt: 1, recovered: false },
        accountId: request.owed.accountId,
        runId: first?.eventId ?? null,
        turnId: turn.fence.turnId,
        sessionKey: turn.sessionKey,
        agentId: turn.agentId,
        role: request.reply.code === undefined ? 'assistant' : 'notice',
        body: request.reply,
        startedAt: turn.startedAt,
        finishedAt: result.finishedAt,
        traceparent: first?.traceparent ?? null,
      },
      false,
    );
  }

  /** The lane has, or may have, a row that is due. */
  due(lane: LaneRef): void {
    if (this.#lanes.has(lane.laneId)) this.#lanes.set(lane.laneId, true);
    else if (this.#hints.size < HINTS_MAX) this.#hints.set(lane.laneId, lane);
    void this.#claimHinted();
  }

  /** Partitions were acquired, or rows may be due: look now. */
  lookNow(): void {
    this.#wake.abort();
  }

  /** Looks for due rows until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const pauses = this.#pauses.run(signal);
    while (!signal.aborted) {
      // before the look: who calls meanwhile may mean a partition that it no longer sees
      this.#wake = new AbortController();
      const waitMs = await this.#look();
      // never at once: a busy account frees a place, and so wakes this, with every send
      await clock.sleep(LOOK_MS_MIN, signal);
      await clock.sleep(waitMs - LOOK_MS_MIN, AbortSignal.any([signal, this.#wake.signal]));
    }
    await pauses;
  }

  /** How long the longest pause that a platform asked for still lasts, milliseconds. */
  get pausedMs(): number {
    return this.#pauses.longestMs();
  }

  /** Resolves when no row is in hand. */
  async idle(): Promise<void> {
    if (this.#inHand === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onIdle = resolve;
    await promise;
  }

  /** Own death: nothing more is sent or recorded. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#settlements.close(0);
  }

  async #canSend(lane: LaneRef, accountId: AccountId): Promise<boolean> {
    try {
      return await this.#options.channels.canSend(lane, accountId);
    } catch (error) {
      // the reply is owed; whether it can be sent shows when it is
      this.#options.log.failed(error, { laneId: lane.laneId }, 'an account could not be read before a commit');
      return true;
    }
  }

  #hasRoom(accountId: AccountId): boolean {
    return this.#inHand < this.#options.sendsMax && !this.#full.has(accountId) && !this.#pauses.has(accountId);
  }

  #exceptAccounts(): AccountId[] {
    return [...this.#full, ...this.#pauses.accounts()];
  }

  /** Takes every due row that there is room for; returns when to look again. */
  async #look(): Promise<number> {
    const { bootId, store, partitions, sendsMax } = this.#options;
    const owned = partitions();
    if (owned.length === 0) return LOOK_MS;
    try {
      await this.#pauses.known();
      for (let room = sendsMax - this.#inHand; room > 0; room = sendsMax - this.#inHand) {
        const limit = Math.min(room, CLAIM_MAX);
        const rows = await store.claimDue(bootId, { partitions: owned, limit, exceptAccounts: this.#exceptAccounts() });
        for (const row of rows) this.#takeInHand(row, true);
        if (rows.length < limit) break;
      }
      await this.#giveBackUnheard();
      const nextMs = await store.nextDueMs(owned, this.#exceptAccounts());
      return Math.min(
        LOOK_MS,
        Math.max(LOOK_MS_MIN, Math.min(nextMs ?? LOOK_MS, this.#pauses.shortestMs() ?? LOOK_MS)),
      );
    } catch (error) {
      this.#unanswered(error, 'looking for due deliveries failed');
      return LOOK_MS;
    }
  }

  #unanswered(error: unknown, sentence: string): void {
    const { clock, log } = this.#options;
    if (error instanceof StoreError && error.failure === 'unknown') this.#unheardMs = clock.monotonicMs();
    log.failed(error, {}, sentence);
  }

  async #giveBackUnheard(): Promise<void> {
    const { bootId, store, clock, laneIsBusy, log } = this.#options;
    if (this.#unheardMs === null || clock.monotonicMs() - this.#unheardMs < UNHEARD_MS) return;
    const rows = await store.ownSends(bootId);
    const unheard = rows.filter(
      ({ lane, ageMs }) => ageMs > UNHEARD_MS && !this.#lanes.has(lane.laneId) && !laneIsBusy(lane.laneId),
    );
    this.#unheardMs = null;
    for (const { lane, seq, n, attempt } of unheard) {
      const error = { code: 'not_sent' };
      if (await this.#settle({ lane, seq, n, attempt, outcome: { state: 'pending', afterMs: 0, error } }))
        this.due(lane);
      log.warn({ laneId: lane.laneId }, 'a delivery that was never heard of was given back');
    }
  }

  /** One statement for all lanes that were named while the one before it was under way. */
  async #claimHinted(): Promise<void> {
    if (this.#claiming) return;
    this.#claiming = true;
    const { bootId, store, partitions, sendsMax } = this.#options;
    try {
      for (let room = sendsMax - this.#inHand; this.#hints.size > 0 && room > 0; room = sendsMax - this.#inHand) {
        const lanes = [...this.#hints.values()].slice(0, Math.min(room, CLAIM_MAX));
        for (const { laneId } of lanes) this.#hints.delete(laneId);
        const which = { partitions: partitions(), limit: lanes.length, lanes, exceptAccounts: this.#exceptAccounts() };
        const due = await store.claimDue(bootId, which);
        for (const row of due) this.#takeInHand(row, true);
      }
    } catch (error) {
      this.#unanswered(error, 'taking due deliveries failed');
    }
    this.#claiming = false;
  }

  #takeInHand(delivery: DueDelivery, lookAfter: boolean): void {
    const { accountId, lane } = delivery;
    this.#inHand++;
    const inHand = (this.#perAccount.get(accountId) ?? 0) + 1;
    this.#perAccount.set(accountId, inHand);
    if (inHand >= this.#options.sendsPerAccountMax) this.#full.add(accountId);
    this.#lanes.set(lane.laneId, lookAfter);
    void this.#deliver(delivery).then(() => this.#letGo(delivery));
  }

  #letGo({ accountId, lane }: DueDelivery): void {
    this.#inHand--;
    const left = (this.#perAccount.get(accountId) ?? 1) - 1;
    if (left === 0) this.#perAccount.delete(accountId);
    else this.#perAccount.set(accountId, left);
    if (left < this.#options.sendsPerAccountMax && this.#full.delete(accountId)) this.lookNow();
    const lookAfter = this.#lanes.get(lane.laneId) ?? false;
    this.#lanes.delete(lane.laneId);
    if (lookAfter) this.due(lane);
    else if (this.#hints.size > 0) void this.#claimHinted();
    if (this.#inHand === 0) this.#onIdle?.();
  }

  /** Never rejects. */
  async #deliver(delivery: DueDelivery): Promise<void> {
    const { clock, ids, crashPoints, metrics, log } = this.#options;
    const { lane, seq, n, attempt } = delivery;
    const about = { tenantId: lane.tenantId, laneId: lane.laneId, deliveryId: delivery.messageId, attempt };
    try {
      const sent = await this.#send(delivery);
      if (sent === null) return;
      crashPoints.hit('deliver.after-send');
      const { ledgerEnabled, outcome: proven } = sent;
      if (proven.result === 'refused' && proven.scope === 'account')
        await this.#pauses.pause(delivery, proven.retryAfterMs ?? 0);
      const now = { nowMs: clock.nowMs(), random: ids.random() };
      const outcome = settleSend({ delivery, outcome: proven, ledgerEnabled, ...now });
      const mine = await this.#settle({ lane, seq, n, attempt, outcome });
      if (mine === null) return;
      if (!mine) {
        metrics.staleFences.inc({ at: 'settle' });
        return log.warn({ ...about, code: 'fenced' }, 'a send was not recorded: its row is no longer this worker’s');
      }
      metrics.deliveries.inc({ platform: sent.platform, state: outcome.state });
      this.#announce(delivery, outcome);
      if (outcome.state === 'delivered') {
        metrics.delaySeconds.observe(Math.max(0, clock.nowMs() - delivery.finishedAt.getTime()) / 1000);
      } else if (outcome.state !== 'offered')
        log.warn({ ...about, code: outcome.error.code, state: outcome.state }, 'a reply was not delivered');
    } catch (error) {
      log.failed(error, about, 'a delivery was left to its repair');
    }
  }

  #announce(delivery: DueDelivery, outcome: DeliverySettlement['outcome']): void {
    const { live, clock } = this.#options;
    const { lane, messageId, runId, turnId, sessionKey, attempt } = delivery;
    if (!live.isWatched(lane)) return;
    const { state } = outcome;
    const platformMessageIds = outcome.state === 'delivered' && outcome.ref !== null ? [outcome.ref] : [];
    live.publish(lane, {
      ...{ type: 'delivery.updated', at: new Date(clock.nowMs()).toISOString(), sessionKey },
      ...(turnId === null ? {} : { turnId: formatId('trn', turnId) }),
      ...(runId === null ? {} : { runIds: [formatId('run', runId)] }),
      data: { deliveryId: formatId('dlv', messageId), state, attempt, platformMessageIds },
    });
  }

  async #send(delivery: DueDelivery): Promise<SentReply | null> {
    try {
      return await this.#options.channels.send(delivery, this.#gate, this.#stop.signal);
    } catch (error) {
      this.#options.log.failed(error, { deliveryId: delivery.messageId }, 'a send failed in a way nobody foresaw');
      return { platform: 'unknown', outcome: { result: 'unknown', code: 'internal' }, ledgerEnabled: true };
    }
  }

  async #mayBegin(): Promise<boolean> {
    const { lease, crashPoints, metrics } = this.#options;
    if (!(await lease.untilSafe(this.#stop.signal))) return false;
    crashPoints.hit('deliver.before-send');
    metrics.attempts.inc();
    return true;
  }

  /** Null when this worker ends before it is answered. */
  async #settle(item: DeliverySettlement): Promise<boolean | null> {
    const { clock, ids } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        return await this.#settlements.add(item);
      } catch (error) {
        if (!(error instanceof AppError) || !error.retryable) throw error;
        await clock.sleep(AGAIN_MS * (0.5 + ids.random() / 2), this.#stop.signal);
      }
    }
    return null;
  }
}
