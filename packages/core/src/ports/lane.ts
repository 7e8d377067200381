import type { AccountId, AgentId, BootId, EventId, LaneRef, MessageId, SessionId, TurnId } from '../ids.ts';
import type { PendingResume } from '../recovery/resume-note.ts';
import type { SessionStatus } from '../routing/lifecycle.ts';
import type { RouteCandidate, SessionEnd } from '../routing/route.ts';
import type { EventKind, TurnReason } from '../states.ts';
import type { EventBody, Source } from './intake.ts';

/** The right to write for a lane: both must match the lane row (protocol I5). `fence` is a bigint kept as text. */
export interface Fence {
  readonly fence: string;
  readonly turnId: TurnId;
}

export interface ClaimRequest {
  readonly lane: LaneRef;
  /** Random, made before the first try, never reused. */
  readonly turnId: TurnId;
  /** Used only when the lane has no session yet or starts a fresh one. */
  readonly newSessionId: SessionId;
  /** Once the store has asked for it. */
  readonly route?: SessionDecision;
}

/** What is known of a lane before its next event is given a session. Times are the database's, milliseconds since 1970. */
export interface SessionFacts {
  /** Names the facts: a decision counts only while they are so. */
  readonly seen: string;
  readonly agentId: AgentId;
  /** Where the conversation takes place. */
  readonly platform: string | null;
  readonly chatType: string | null;
  readonly isWake: boolean;
  readonly acceptedAtMs: number;
  readonly sessionId: SessionId | null;
  readonly suspended: boolean;
  readonly resumePending: boolean;
  /** A turn has ended in the session. */
  readonly hadActivity: boolean;
  readonly status: SessionStatus;
  /** A boundary was drawn, or an accident ended it; a session that was only archived by age has not ended. */
  readonly ended: boolean;
  readonly endReason: SessionEnd | null;
  readonly lastActivityAtMs: number;
  /** Earlier sessions of a lane that has none. */
  readonly candidates: readonly Omit<RouteCandidate, 'sameKey'>[];
}

export type SessionDecision =
  | {
      readonly seen: string;
      readonly session: 'new';
      readonly startedReason: string;
      /** How the one before ends, if it has not ended yet. */
      readonly endReason: SessionEnd | null;
    }
  | { readonly seen: string; readonly session: 'same'; readonly sessionId: string; readonly status: SessionStatus };

export interface ClaimedEvent {
  readonly eventId: EventId;
  readonly ord: string;
  readonly kind: EventKind;
  readonly accountId: AccountId | null;
  readonly body: EventBody;
  /** Turns of this event that ended before this one. */
  readonly attempts: number;
  readonly acceptedAt: Date;
  readonly traceparent: string | null;
}

export interface ClaimedTurn {
  readonly result: 'claimed';
  readonly lane: LaneRef;
  readonly fence: Fence;
  readonly agentId: AgentId;
  readonly sessionKey: string;
  readonly source: Source;
  readonly sessionId: SessionId;
  /** Lane seq of this claim: the seq of its user messages. */
  readonly seq: string;
  readonly reason: TurnReason;
  /** The interrupted turn that this one resumes. */
  readonly resumeOf: TurnId | null;
  /** An interruption that no turn has outlived yet: the agent is told. */
  readonly interrupted: PendingResume | null;
  readonly startedAt: Date;
  readonly events: readonly ClaimedEvent[];
}

export type ClaimResult =
  | ClaimedTurn
  /** Nothing was written: which session it is has to be decided first, or again because the facts have changed. */
  | { readonly result: 'undecided'; readonly facts: SessionFacts }
  /** empty: nothing to do · busy: a turn is running · skipped: locked by another, next tick · held: paused or waiting
   *  for a person · not_live: this worker may not claim · missing: no such lane (must not happen: counted) */
  | { readonly result: 'empty' | 'busy' | 'skipped' | 'held' | 'not_live' | 'missing' };

/** A step of a running turn: the tool call before it is executed, its result after. */
export interface StepAppend {
  readonly lane: LaneRef;
  readonly fence: Fence;
  readonly messageId: MessageId;
  /** Lane seq of the claim, and the number of this step in the turn, from 1. */
  readonly seq: string;
  readonly n: number;
  readonly role: 'tool_call' | 'tool_result';
  readonly body: unknown;
}

export interface ReplyBody {
  readonly text: string;
  readonly attachments?: readonly unknown[];
  /** It is a notice of the system, not the agent's word. */
  readonly code?: string;
  /** How many answers of agents led to this one, itself included; absent: 1. Its receiver is told, so that loops end. */
  readonly hops?: number;
}

export interface CommitRequest {
  readonly lane: LaneRef;
  readonly fence: Fence;
  readonly status: 'ok' | 'no_reply' | 'error' | 'timeout';
  readonly messageId: MessageId;
  readonly reply: ReplyBody | null;
  readonly error: { readonly code: string; readonly detail?: string } | null;
  readonly usage: { readonly inputTokens?: number; readonly outputTokens?: number } | null;
  readonly agentVersion: number | null;
  /**
   * What the reply owes: nothing to send (proven by the commit) or a send through the account. `sendNow`: the caller
   * sends it at once if the answer says `sending`.
   */
  readonly owed:
    | { readonly kind: 'proven' }
    | { readonly kind: 'send'; readonly accountId: AccountId; readonly sendNow: boolean }
    | null;
}

export type CommitResult =
  | {
      /** again = this very turn was committed by an earlier try whose answer was lost: success. */
      readonly result: 'ok' | 'again';
      readonly seq: string;
      /** A hint, never proof of empty. */
      readonly more: boolean;
      readonly finishedAt: Date;
      /** The delivery row: `sending` = inserted as being sent by this worker, attempt 1, nothing stands before it; `pending` = due. */
      readonly delivery: 'pending' | 'sending' | 'delivered' | null;
    }
  /** The fence pair no longer matches: nothing was written. */
  | { readonly result: 'stale' };

export interface HandBackRequest {
  readonly lane: LaneRef;
  readonly fence: Fence;
  /** False: nothing left Postgres yet, the events go back to `queued`. True: as an interrupt, without a strike. */
  readonly hadEffect: boolean;
  readonly reason: 'shutdown_timeout' | 'restart_timeout' | 'local_failure';
}

export interface RunningTurn {
  readonly lane: LaneRef;
  readonly fence: Fence;
  readonly startedAt: Date;
  /** Age on the database clock, milliseconds. */
  readonly ageMs: number;
}

/** A lane that has work and no turn. */
export interface ReadyLane extends LaneRef {
  /** Highest queued event, to drop hints about lanes already served; null when it is a resume. */
  readonly maxOrd: string | null;
}

/** The lane's rows, as a session-worker may change them. Every call is one batch, one transaction, one round trip. */
export interface LaneStore {
  /**
   * Each lane at most once per batch. `wait`: after three skips, one lane alone with a short lock wait. Repeated with the
   * same turn ids it answers `claimed` for what an earlier try claimed whose answer was lost. @throws StoreError
   */
  claim(bootId: BootId, items: readonly ClaimRequest[], options?: { readonly wait?: boolean }): Promise<ClaimResult[]>;
  /** @throws StoreError. `stale`: abort the turn. `again`: an earlier try stored it. */
  append(items: readonly StepAppend[]): Promise<('ok' | 'again' | 'stale')[]>;
  /** Commit point 2. Each lane at most once per batch. @throws StoreError */
  commit(bootId: BootId, items: readonly CommitRequest[]): Promise<CommitResult[]>;
  /** Gives running turns back. Result: true where the fence pair was still mine. @throws StoreError */
  handBack(bootId: BootId, items: readonly HandBackRequest[]): Promise<boolean[]>;
  /** After a release: does the lane have work that nobody runs? @throws StoreError */
  look(lanes: readonly LaneRef[]): Promise<boolean[]>;
  /** Lanes of these partitions with work and no turn, over all tenants; at most `limit`. @throws StoreError */
  scan(partitions: readonly number[], limit: number): Promise<ReadyLane[]>;
  /**
   * Running turns of this boot id, to find those it does not know. Walks every lane with unfinished events: ask every few
   * seconds; for turns one knows `stillRunning` is the cheap question. @throws StoreError
   */
  running(bootId: BootId): Promise<RunningTurn[]>;
  /** Which of these turns still run, by their rows: for the poll, a lost lock, an unclear claim. @throws StoreError */
  stillRunning(turns: readonly { readonly lane: LaneRef; readonly turnId: TurnId }[]): Promise<boolean[]>;
}
