import type { AccountId, BootId, EventId, LaneRef, MessageId, TenantId, TurnId } from '../ids.ts';

export interface DeliveryRef {
  readonly lane: LaneRef;
  readonly seq: string;
  readonly n: number;
}

/** A row that this worker marked `sending`, durably, before the first byte. */
export interface DueDelivery extends DeliveryRef {
  readonly messageId: MessageId;
  readonly accountId: AccountId;
  readonly attempt: number;
  /** The one resend of an unknown outcome: goes out with the channel's notice. */
  readonly recovered: boolean;
  readonly runId: EventId | null;
  readonly turnId: TurnId | null;
  readonly sessionKey: string;
  readonly agentId: string;
  readonly role: string;
  readonly body: { readonly text: string; readonly attachments?: readonly unknown[]; readonly hops?: number };
  readonly startedAt: Date | null;
  readonly finishedAt: Date;
  readonly traceparent: string | null;
}

export interface DeliverySettlement extends DeliveryRef {
  readonly attempt: number;
  readonly outcome:
    | { readonly state: 'delivered'; readonly ref: string | null }
    | { readonly state: 'offered' }
    /** A proven refusal that may be tried again, not before `afterMs` from now on the database clock. */
    | {
        readonly state: 'pending';
        readonly afterMs: number;
        readonly error: { readonly code: string; readonly detail?: string };
      }
    | {
        readonly state: 'failed' | 'unknown' | 'abandoned';
        readonly error: { readonly code: string; readonly detail?: string };
      };
}

/** Which due rows: of these partitions or, where they are named, of these lanes alone. */
export interface ClaimDue {
  readonly partitions: readonly number[];
  /** Rows at most. */
  readonly limit: number;
  readonly lanes?: readonly LaneRef[];
  /** Accounts whose rows wait, with all that stands behind them. */
  readonly exceptAccounts?: readonly AccountId[];
}

export interface OwnSend extends DeliveryRef {
  readonly attempt: number;
  /** Since it was marked, on the database clock. */
  readonly ageMs: number;
}

export interface DeliveryStore {
  /**
   * Marks due rows `sending` (head of each conversation only: everything before it is final or unknown without a resend to
   * come) and returns them. Only a live worker gets rows. @throws StoreError
   */
  claimDue(bootId: BootId, due: ClaimDue): Promise<DueDelivery[]>;
  /** Records sends. True where the row was still sending(me, attempt). Commit point 3. @throws StoreError */
  settle(bootId: BootId, items: readonly DeliverySettlement[]): Promise<boolean[]>;
  /**
   * Rows that this boot id marked `sending`, to find those whose marking it never heard of. Walks all that is owed: ask
   * after a claim without an answer, not again and again. @throws StoreError
   */
  ownSends(bootId: BootId): Promise<OwnSend[]>;
  /**
   * Milliseconds until the next pending row of these partitions is due, but for these accounts; null when none waits.
   * @throws StoreError
   */
  nextDueMs(partitions: readonly number[], exceptAccounts: readonly AccountId[]): Promise<number | null>;
  /** Nothing is claimed through the account for so long, or longer where that was asked before. @throws StoreError */
  pauseAccount(tenantId: TenantId, accountId: AccountId, waitMs: number): Promise<void>;
  /** Accounts of any tenant that are paused now, the longest first, up to a bound. @throws StoreError */
  pausedAccounts(): Promise<readonly PausedAccount[]>;
}

export interface PausedAccount {
  readonly accountId: AccountId;
  readonly leftMs: number;
}

/** What visitors of a web chat say that they read. */
export interface SeenMarks {
  /** Everything offered in the lane up to this seq is delivered. @throws StoreError */
  seen(lane: LaneRef, seq: number): Promise<void>;
}
