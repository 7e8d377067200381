import type {
  AccountId,
  AttachmentId,
  BootId,
  EventId,
  LaneRef,
  MessageId,
  SessionId,
  TenantId,
  TurnId,
} from '../ids.ts';
import type { AcceptItem, AcceptResult } from './intake.ts';
import type { ReplyBody } from './lane.ts';

export type CancelResult =
  /** `turnId`: the turn that ran it and was fenced off, to be told so by a signal; null when none ran. The lane may have more work: wake it. */
  | { readonly result: 'cancelled'; readonly turnId: TurnId | null; readonly lane: LaneRef }
  /** It had ended before: what ended it stands. */
  | { readonly result: 'final' }
  /** No such event of this tenant. */
  | { readonly result: 'missing' };

/**
 * `stop` ends the work of the lane and drops the first waiting message of a person; `reset` drops all that people wait for
 * and begins a fresh session; wakes stay. `pause`: events are stored, no turns. `suspend`: the next message begins a fresh
 * session, `resume` takes that back. `archive` closes the session. `erase` deletes what was said.
 */
export type LaneCommand = 'stop' | 'reset' | 'pause' | 'unpause' | 'suspend' | 'resume' | 'archive' | 'erase';

export interface ControlRequest {
  readonly lane: LaneRef;
  /** Only while this is the lane's session; null: whichever it is. */
  readonly sessionId: SessionId | null;
  readonly command: LaneCommand | { readonly label: string | null };
  /** Of the session that a reset begins. */
  readonly newSessionId: SessionId;
  /** Only for what makes something: a reset. */
  readonly dedupe: AcceptItem['dedupe'] | null;
  /**
   * Of `stop` and `reset`: the sender (`userId`) whose own work alone may end: the turn, if it carries a message of his, and
   * the message that waits first, if it is his. What would end somebody else's is refused: a stop `nothing_to_stop`, all else
   * `lane_busy`. Absent: anybody's.
   */
  readonly onlyOf?: string;
}

export type ControlResult =
  | {
      readonly result: 'done';
      /** Of this transaction: everything it changed carries it. */
      readonly seq: string;
      /** Was running and was fenced off: to be told so by a signal. */
      readonly turnId: TurnId | null;
      readonly sessionId: SessionId | null;
      /** Runs that it discarded, those of the turn first. */
      readonly ended: readonly EventId[];
      readonly at: Date;
    }
  /** It was so already (`same`), or this very request was done before (`duplicate`). */
  | { readonly result: 'same' | 'duplicate' }
  /**
   * Refused, nothing changed. `past`: the session is not the lane's any more, or archived. `no_session`: the lane has none yet.
   * `lane_busy`: a turn runs or is owed; for `erase` also, something waits or is to be delivered; for a `reset` of one sender's
   * own work: somebody else's is under way.
   */
  | {
      readonly result:
        | 'missing'
        | 'past'
        | 'no_session'
        | 'lane_busy'
        | 'nothing_to_stop'
        | 'label_in_use'
        | 'mismatch';
    };

/** A message without a turn. */
export interface OutboundRequest {
  readonly lane: LaneRef;
  readonly sessionId: SessionId | null;
  /** Used when the lane has no living session. */
  readonly newSessionId: SessionId;
  readonly messageId: MessageId;
  /** Who speaks. Models see what agents and humans said, not what the system did. */
  readonly author: 'agent' | 'human' | 'system';
  readonly body: ReplyBody;
  /** Owed through this account, behind all that stands before it; null: proven by being stored. */
  readonly accountId: AccountId | null;
  /** Files that the body names: they are kept as long as the message. */
  readonly uses?: readonly AttachmentId[];
  readonly dedupe: AcceptItem['dedupe'];
  /** Messages of the lane that may be undelivered before this one is refused. */
  readonly undeliveredMax: number;
}

export type OutboundResult =
  | {
      /** duplicate: this very message was sent before. */
      readonly result: 'sent' | 'duplicate';
      readonly messageId: MessageId;
      readonly seq: string;
      readonly sessionId: SessionId;
      readonly at: Date;
      readonly isOwed: boolean;
    }
  /** full: too many of the lane are undelivered. */
  | { readonly result: 'mismatch' | 'missing' | 'past' | 'full' }
  /** The first one of this key has been deleted since. */
  | { readonly result: 'gone' };

/** A command that a person typed as a message. */
export interface TypedCommand {
  /** The message; its text is what follows the command. */
  readonly item: AcceptItem;
  /** `answer` changes nothing; only `notices.done` is said. */
  readonly command: 'stop' | 'reset' | SessionSwitch | 'answer';
  /** The text is said first in the fresh session. */
  readonly goesOn: boolean;
  readonly newSessionId: SessionId;
  readonly noticeId: MessageId;
  /** As in `ControlRequest`; after a reset that is refused, what follows the word is said in the session that goes on. */
  readonly onlyOf?: string;
  /** What is said where something was done, and where there was nothing to do. */
  readonly notices: { readonly done: Notice; readonly idle: Notice };
}

/** The lane gets another of its sessions, and what goes with the present one ends, as by a reset. */
export interface SessionSwitch {
  /** The session that the lane must still have. */
  readonly from: SessionId | null;
  /** One of the lane's; it lives again. */
  readonly to: SessionId;
  /** Of the session before. */
  readonly endReason: string;
}

/** A session that a conversation can go back to. */
export interface LaneSession {
  readonly sessionId: SessionId;
  /** When it was begun, or last gone back to. */
  readonly at: Date;
  readonly isCurrent: boolean;
  /** It ended, or the next message begins another. */
  readonly isOver: boolean;
  /** What was said first in it, cut; null where that is long ago or gone. */
  readonly words: string | null;
}

export interface Notice {
  readonly code: string;
  readonly text: string;
}

export type TypedCommandResult =
  | Exclude<AcceptResult, { readonly result: 'accepted' | 'lane_full' }>
  | {
      readonly result: 'accepted';
      readonly position: number;
      readonly ord: string;
      /** What it did; null: an earlier try of this very call did it, and its answer was lost. */
      readonly done: Pick<
        Extract<ControlResult, { readonly result: 'done' }>,
        'seq' | 'turnId' | 'sessionId' | 'ended'
      > | null;
    }
  /**
   * This call accepted nothing: the lane has another session by now, or the one asked for is gone. Only of a switch. One that
   * repeats a switch that was done is answered so, too: whoever looks again finds the session that was asked for.
   */
  | { readonly result: 'moved' };

/** What people do to a lane from outside. Every call is one transaction under the lane's lock (protocol `control`). */
export interface ControlStore {
  /**
   * Ends one run: while it is queued, it alone; while it runs, its turn and every event of that turn. Nothing else of the
   * lane changes. @throws StoreError
   */
  cancelRun(tenantId: TenantId, eventId: EventId): Promise<CancelResult>;
  /** One command to one lane; a commit that came first stands. @throws StoreError */
  control(request: ControlRequest): Promise<ControlResult>;
  /** Accepts a typed command and does it, in one transaction. Safe when repeated with the same ids. @throws StoreError */
  typed(nodeId: BootId, request: TypedCommand): Promise<TypedCommandResult>;
  /** The last `limit` sessions of a lane, with its present one and the wanted one if that is the lane's; newest first. @throws StoreError */
  sessionsOf(lane: LaneRef, wanted: SessionId | null, limit: number): Promise<LaneSession[]>;
  /** @throws StoreError */
  sendOutbound(request: OutboundRequest): Promise<OutboundResult>;
  /** Through which account the conversation was last spoken to; null: none. @throws StoreError */
  accountOf(lane: LaneRef): Promise<AccountId | null>;
}
