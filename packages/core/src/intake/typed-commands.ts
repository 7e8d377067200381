import type { Ids } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { BootId, LaneRef, MessageId, SessionId } from '../ids.ts';
import type { ControlStore, TypedCommand, TypedCommandResult } from '../ports/control.ts';
import type { ControlSignals, WakeUps } from '../ports/signals.ts';
import { afterTrigger } from '../routing/text-commands.ts';
import type { Acceptance, AcceptMessage, InboundMessage } from './accept-message.ts';
import { decideResume, SESSIONS_LISTED, wantedSession } from './earlier-sessions.ts';

/** What a person typed, where it is a command: `rest` is what follows the word. */
export interface CommandText {
  readonly command: 'stop' | 'reset' | 'resume';
  readonly rest: string;
}

const WORDS = { stop: ['/stop'], reset: ['/new', '/reset'], resume: ['/resume'] } as const;

/**
 * `/stop`, `/new [text]`, `/reset [text]`, `/resume [session]`, in any case; null for all else, also for words that begin with a
 * slash.
 */
export function commandOf(text: string): CommandText | null {
  for (const command of ['stop', 'reset', 'resume'] as const) {
    const rest = afterTrigger(text, true, WORDS[command]);
    if (rest !== null) return { command, rest: command === 'stop' ? '' : rest };
  }
  return null;
}

const NOTICES = {
  stop: {
    done: { code: 'stopped', text: 'Stopped.' },
    idle: { code: 'nothing_to_stop', text: 'There is nothing of yours to stop.' },
  },
  reset: {
    done: { code: 'session_reset', text: 'A new conversation begins.' },
    // a reset that may end anybody's work is always done
    idle: { code: 'lane_busy', text: 'No new conversation yet: a message of somebody else is under way.' },
  },
} as const;

/** Somebody else may change the session of a lane while a command looks at it. */
const LOOKS_MAX = 3;

export interface TypedCommandsOptions {
  /** This ingress. */
  readonly nodeId: BootId;
  readonly acceptMessage: Pick<AcceptMessage, 'accept' | 'itemOf' | 'noteQueued' | 'refuses'>;
  readonly control: Pick<ControlStore, 'typed' | 'sessionsOf'>;
  readonly signals: Pick<ControlSignals, 'stopTurn'>;
  readonly wakeUps: WakeUps;
  readonly partitionOf: (slot: number) => number;
  readonly ids: Ids;
  /** Tells the lane's owner, and those who watch it, what a command did. */
  readonly announce: (controlled: Done & { readonly lane: LaneRef; readonly sessionKey: string }) => void;
}

type Given = Pick<TypedCommand, 'item' | 'goesOn' | 'onlyOf'>;
type Answered = Exclude<TypedCommandResult, { readonly result: 'moved' }>;
type Done = NonNullable<Extract<TypedCommandResult, { readonly result: 'accepted' }>['done']>;

/**
 * Commands that people type as messages, for channels where people type. Accepted and done in one transaction, outside the
 * group commit: whoever is answered can rely on it, and a crash leaves no command undone (protocol H19). What follows
 * `/new` is a message, the first of the fresh session: where no message is taken, nothing of it is done.
 */
export class TypedCommands {
  readonly #options: TypedCommandsOptions;

  constructor(options: TypedCommandsOptions) {
    this.#options = options;
  }

  /**
   * Resolves after the commit. `message` is the whole of it, as typed; `own`: whose work alone the command may end.
   * @throws AppError `malformed_key`, `idempotency_mismatch`, `lane_busy` when the session that is asked for changes all the time; where a message follows, also `tenant_queue_full` and
   *   `draining`: nothing was done. StoreError: it may have been done, repeat with the same idempotency key.
   */
  async give(
    message: InboundMessage,
    { command, rest }: CommandText,
    own: Pick<TypedCommand, 'onlyOf'> = {},
  ): Promise<Acceptance> {
    const { acceptMessage, partitionOf } = this.#options;
    const { content } = message;
    const goesOn = command === 'reset' && rest !== '';
    if (goesOn && acceptMessage.refuses(message)) return acceptMessage.accept(message);
    const item = acceptMessage.itemOf({
      ...message,
      kind: 'command',
      content: goesOn ? { ...content, rest } : content,
    });
    const given = { item, goesOn, ...own };
    const result = await (command === 'resume'
      ? this.#resume(rest, given)
      : this.#typed({ ...given, command, notices: NOTICES[command] }));
    if (result.result === 'mismatch') throw mismatch();
    const isNew = result.result === 'accepted';
    const { slot, tenantId, laneId, sessionKey } = item;
    const lane = isNew ? { slot, tenantId, laneId } : result.lane;
    if (isNew && goesOn) acceptMessage.noteQueued(tenantId);
    if (isNew) this.#tell({ lane, sessionKey, ord: result.ord }, result.done);
    return {
      ...{ status: isNew ? 'accepted' : 'duplicate', eventId: isNew ? item.eventId : result.eventId, lane, sessionKey },
      ...{ partition: partitionOf(lane.slot), position: result.position, refused: null },
    };
  }

  /** The lane's sessions are looked at first; when they changed since, nothing was done, and they are looked at again. */
  async #resume(rest: string, given: Given): Promise<Answered> {
    const { slot, tenantId, laneId } = given.item;
    const wanted = wantedSession(rest);
    for (let looks = 0; looks < LOOKS_MAX; looks++) {
      const sessions = await this.#options.control.sessionsOf({ slot, tenantId, laneId }, wanted, SESSIONS_LISTED);
      const result = await this.#typedOnce({ ...given, ...decideResume(rest, sessions) });
      if (result.result !== 'moved') return result;
    }
    throw busy();
  }

  async #typed(request: Given & Pick<TypedCommand, 'command' | 'notices'>): Promise<Answered> {
    const result = await this.#typedOnce(request);
    if (result.result === 'moved') throw busy();
    return result;
  }

  #typedOnce(request: Given & Pick<TypedCommand, 'command' | 'notices'>): Promise<TypedCommandResult> {
    const { control, nodeId, ids } = this.#options;
    const made = { newSessionId: ids.next() as SessionId, noticeId: ids.next() as MessageId };
    return control.typed(nodeId, { ...request, ...made });
  }

  #tell(about: { readonly lane: LaneRef; readonly sessionKey: string; readonly ord: string }, done: Done | null): void {
    const { signals, wakeUps, partitionOf, announce } = this.#options;
    const { lane, sessionKey, ord } = about;
    if (done !== null && done.turnId !== null) signals.stopTurn(lane.tenantId, done.turnId);
    if (done !== null) announce({ ...done, lane, sessionKey });
    wakeUps.wake(partitionOf(lane.slot), [{ lane, ord }]);
  }
}

function busy(): AppError {
  return new AppError({
    code: 'lane_busy',
    retryable: true,
    message: 'the conversation changed while the command looked at it; send it again',
  });
}

function mismatch(): AppError {
  return new AppError({
    code: 'idempotency_mismatch',
    message: 'the id of this message was used before with another text; use a new one for a new message',
  });
}
