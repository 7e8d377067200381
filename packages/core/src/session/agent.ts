import type { AgentConfig } from '../ports/configs.ts';
import type { Question, ResolvedInput } from '../ports/inputs.ts';
import type { ClaimedTurn, CommitRequest } from '../ports/lane.ts';
import type { TranscriptEntry } from '../ports/transcripts.ts';

/** One try of a turn, as an agent sees it. */
export interface AgentCall {
  readonly turn: ClaimedTurn;
  readonly config: AgentConfig;
  /** 1 for the first try of this turn. */
  readonly tryNumber: number;
  /** What the session holds before this turn, oldest first, valid for a model. Read once, when first asked for. */
  readonly history: () => Promise<readonly TranscriptEntry[]>;
  /** What became of the question that this turn goes on from; null when it asked none. */
  readonly input: () => Promise<ResolvedInput | null>;
  /** Aborts when nobody waits for the answer any more: stopped, fenced, too late, drained. */
  readonly signal: AbortSignal;
  /** Streams text, or what the model thinks, which is told live and kept nowhere. Every call counts as activity, and one with no text as nothing else; after an abort it does nothing. */
  readonly emit: (text: string, kind?: 'reasoning') => void;
}

export interface AgentReply {
  /** Empty = the agent has nothing to say: the run ends `no_reply`. */
  readonly text: string;
  readonly usage: CommitRequest['usage'];
  /** Files that go with the text: of this conversation, so that they live as long as it. */
  readonly attachments?: readonly unknown[];
  /** The agent asks a person instead, and goes on, as a turn of its own, when that is resolved: the text is dropped. */
  readonly ask?: Question;
}

/** A way to run agents. */
export interface AgentRuntime {
  /**
   * @throws AppError with a run error code; `retryable` = the same call may succeed in a moment. Anything else that it
   *   throws ends the run as `internal`.
   */
  run(call: AgentCall): Promise<AgentReply>;
}
