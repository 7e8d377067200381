import type { AccountId, AgentId, AttachmentId, BootId, EventId, LaneRef, TenantId } from '../ids.ts';
import type { EventKind } from '../states.ts';

/** Where an event came from. Immutable once stored. Components are raw: escaping belongs to the key policies. */
export interface Source {
  readonly platform: string;
  readonly chatType: string;
  readonly chatId?: string | null;
  readonly threadId?: string | null;
  readonly userId?: string | null;
  readonly userIdAlt?: string | null;
  readonly userName?: string | null;
  readonly chatName?: string | null;
  readonly prospectiveThreadId?: string | null;
  readonly scopeId?: string | null;
  /** Another bot wrote it, or something else that is no person. */
  readonly isBot?: boolean;
}

/** `events.body`. */
export interface EventBody {
  readonly text: string;
  readonly source: Source;
  readonly attachments?: readonly unknown[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly busyMode?: string;
  /** What its sender says went before, oldest first, of a conversation that begins with this message. */
  readonly before?: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];
  /** What is behind a command that the text begins with: the agent is given this instead. */
  readonly rest?: string;
  /** How many answers of agents led to it, one after the other; absent: none. */
  readonly hops?: number;
  /** The platform's own id of the message. */
  readonly platformMessageId?: string;
}

export interface AcceptItem extends LaneRef {
  readonly agentId: AgentId;
  readonly sessionKey: string;
  /** Made by the ingress before the first try: a repeated try stores nothing twice. */
  readonly eventId: EventId;
  readonly kind: EventKind;
  readonly accountId: AccountId | null;
  readonly body: EventBody;
  /** Events without an idempotency key use `evt:` + their id, so that every event has its dedupe row. */
  readonly dedupe: { readonly scope: string; readonly key: string; readonly bodyHash: Uint8Array };
  /** Accepted, unfinished events a lane may hold; above it the item is answered `lane_full` and consumes nothing. */
  readonly laneCap: number;
  readonly traceparent: string | null;
  /**
   * A quota refuses what its platform must not be refused: stored as an event that has ended `refused` with this code
   * as its error. It is never queued and no cap counts it.
   */
  readonly refused?: { readonly code: string };
  /** Files that the body names: they are kept as long as the event. */
  readonly uses?: readonly AttachmentId[];
}

export type AcceptResult =
  /**
   * Stored and committed. `position` = unfinished events of the lane before this one in the accepting snapshot;
   * `ord` = its `events.ord`, for the wake-up.
   */
  | { readonly result: 'accepted'; readonly position: number; readonly ord: string }
  /** The same key and body came before: the first acceptance, and what still stands before it (0 when it has ended). */
  | { readonly result: 'duplicate'; readonly eventId: EventId; readonly lane: LaneRef; readonly position: number }
  /** The same key came before with another body. */
  | { readonly result: 'mismatch'; readonly eventId: EventId }
  | { readonly result: 'lane_full' };

export interface IntakeStore {
  /**
   * Stores a batch in one transaction (commit point 1), rows in input order; result i belongs to item i.
   * Repeating a batch with the same ids is safe: what was stored answers `duplicate` of itself, which the
   * implementation turns back into `accepted`.
   * @throws StoreError `row` (one item is at fault: bisect), `busy` (try again), `unknown` (repeat with the same ids)
   */
  accept(nodeId: BootId, items: readonly AcceptItem[]): Promise<AcceptResult[]>;
  /** Queued events per tenant as the leader last measured them (`tenant_load`). @throws StoreError */
  queuedPerTenant(): Promise<ReadonlyMap<TenantId, QueuedCount>>;
}

export interface QueuedCount {
  readonly queued: number;
  /** When it was measured, and how long ago that is, milliseconds on the database clock. */
  readonly measuredAtMs: number;
  readonly ageMs: number;
}
