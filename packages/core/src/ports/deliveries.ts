import type { AccountId, AgentId, EventId, LaneRef, MessageId, SessionId, TenantId, TurnId } from '../ids.ts';
import type { DeliveryStatus } from '../states.ts';
import type { Actor } from './config-writes.ts';
import type { Page, PageRequest } from './reads.ts';

/** What became of one outbound message, as its row says it at one moment. */
export interface DeliveryRecord {
  /** Deliveries and their messages share an id. */
  readonly messageId: MessageId;
  readonly lane: LaneRef;
  readonly sessionKey: string;
  readonly sessionId: SessionId;
  readonly agentId: AgentId;
  /** Null: proven by the commit of its turn. */
  readonly accountId: AccountId | null;
  readonly runId: EventId | null;
  readonly turnId: TurnId | null;
  readonly status: DeliveryStatus;
  /** Sends started. */
  readonly attempts: number;
  /** Its next or last send is marked: what it carries may have arrived before. */
  readonly recovered: boolean;
  /** An unknown outcome that waits for a person, until then; null: it does not. */
  readonly heldUntil: Date | null;
  /** Of a pending one that waits: not before then. */
  readonly dueAt: Date | null;
  readonly errorCode: string | null;
  /** The platform's own ids. */
  readonly ref: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Left out of lists. */
  readonly text?: string;
}

export interface DeliveryFilter extends PageRequest {
  readonly status?: DeliveryStatus | undefined;
  readonly accountId?: AccountId | undefined;
  readonly agentId?: AgentId | undefined;
  /** Of this run: what the turn that settled it owes, or what it owes by itself. */
  readonly runId?: EventId | undefined;
  /** Of this conversation, and of one session of it. */
  readonly lane?: LaneRef | undefined;
  readonly sessionId?: SessionId | undefined;
}

export interface DeliveryReads {
  /** @throws StoreError */
  get(tenantId: TenantId, messageId: MessageId): Promise<DeliveryRecord | null>;
  /**
   * Newest first. One call looks at a bounded number of rows: a page of few finds, or none, may lead to another one.
   * @throws StoreError, AppError `invalid_cursor`
   */
  list(tenantId: TenantId, filter: DeliveryFilter): Promise<Page<DeliveryRecord>>;
}

/** `retry`: send it now; `delivered`, `abandoned`: it arrived, it is given up. */
export type DeliveryVerb = 'retry' | 'delivered' | 'abandoned';

export type DecidedDelivery =
  /** `same`: it was so already, nothing was written. */
  | {
      readonly result: 'done' | 'same';
      readonly lane: LaneRef;
      readonly sessionKey: string;
      readonly sessionId: SessionId;
      readonly turnId: TurnId | null;
      readonly runId: EventId | null;
      readonly status: DeliveryStatus;
      readonly attempts: number;
      readonly ref: string | null;
    }
  /**
   * Refused, nothing changed. `busy`: it, or, for a retry, another one of its conversation, is being sent. `settled`: there
   * is nothing to say any more. `gone`: its words have been deleted.
   */
  | { readonly result: 'missing' | 'busy' | 'settled' | 'gone' };

/** What people decide where no rule can. */
export interface DeliveryControl {
  /**
   * One decision, under the lane's lock and those of all that its conversation is owed, so that no send begins beside it; it
   * leaves an audit row. A retry of what may have arrived is marked recovered. @throws StoreError
   */
  decide(
    tenantId: TenantId,
    messageId: MessageId,
    decision: { readonly verb: DeliveryVerb; readonly actor: Actor; readonly auditId: string },
  ): Promise<DecidedDelivery>;
}
