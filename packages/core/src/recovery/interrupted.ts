import { isSilent } from './silence.ts';

export type ResumeReason = 'restart_interrupted' | 'restart_timeout' | 'shutdown_timeout' | 'orphaned_tool_call';

/** The last row that an interrupted turn has stored, or would be seen last in its transcript. */
export interface LastRow {
  readonly role: 'assistant' | 'tool' | 'user';
  readonly text: string;
  /** It calls tools whose results are not known. */
  readonly toolCalls: boolean;
  /** It holds nothing that could be sent as text. */
  readonly mediaOnly: boolean;
  readonly atMs: number;
}

/** What is known of a turn whose mark is still set. */
export interface MarkedTurn {
  readonly nowMs: number;
  /** Of the process that ran it: it lives, it ended after handing everything over, or its lease is over. */
  readonly owner: 'alive' | 'clean' | 'expired';
  /** Null: no turn is marked. */
  readonly markedAtMs: number | null;
  readonly suspended: boolean;
  readonly resumePending: ResumeReason | null;
  readonly lastRow: LastRow | null;
  readonly turnKind: 'human' | 'machine' | 'diagnostic';
  readonly diagnosticsMuted: boolean;
  /** Replies are kept until their delivery is proven. Without that a reply may be lost, and the turn runs again. */
  readonly ledgerEnabled: boolean;
  /** What is already owed since the mark. */
  readonly ledgeredText: string | null;
  /** The agent's limit without a sign of life. */
  readonly agentTimeoutMs: number;
  /** It is known where a reply would go. */
  readonly hasOrigin: boolean;
}

export interface RecoveryDecision {
  readonly mark: 'none' | 'kept' | 'cleared';
  readonly resume: boolean;
  readonly resumeReason: ResumeReason | null;
  /** This decision set the flag; false when it was set before. */
  readonly newlyPromoted: boolean;
  readonly obligation: { readonly kind: 'answer' | 'silence_notice'; readonly text: string | null } | null;
  /** Cleared without anything else: it began too long ago. */
  readonly tooOld: boolean;
}

const WINDOW_MS_MIN = 3_600_000;
const NOTHING = { resume: false, resumeReason: null, newlyPromoted: false, obligation: null, tooOld: false } as const;
const CLEARED = { mark: 'cleared', ...NOTHING } as const;

/**
 * What becomes of a turn whose process is lost (design §7): a reply that is stored is owed, once, with the notice; what
 * a machine asked for in vain, or a process that handed everything over, needs nothing; a turn that began more than an
 * hour, or twice its limit, ago is not taken up; everything else runs once more. How recent a conversation is counts
 * for nothing (source: hermes.md §9).
 */
export function decideInterrupted(turn: MarkedTurn): RecoveryDecision {
  const { markedAtMs, nowMs, owner, suspended, agentTimeoutMs } = turn;
  if (markedAtMs === null) return { mark: 'none', ...NOTHING };
  if (owner === 'alive') return { mark: 'kept', ...NOTHING };
  if (owner === 'clean' || suspended) return CLEARED;
  if (nowMs - markedAtMs > Math.max(WINDOW_MS_MIN, 2 * agentTimeoutMs)) return { ...CLEARED, tooOld: true };
  const reply = storedReply(turn, markedAtMs);
  return reply === null ? resumed(turn) : withReply(turn, reply);
}

function storedReply({ lastRow, hasOrigin }: MarkedTurn, sinceMs: number): string | null {
  if (lastRow === null || !hasOrigin || lastRow.role !== 'assistant') return null;
  if (lastRow.toolCalls || lastRow.mediaOnly || lastRow.atMs < sinceMs || lastRow.text.trim() === '') return null;
  return lastRow.text;
}

function withReply(turn: MarkedTurn, text: string): RecoveryDecision {
  const { turnKind, diagnosticsMuted, ledgerEnabled, ledgeredText } = turn;
  const isSilence = isSilent(text, { autonomous: turnKind !== 'human' });
  if (isSilence && turnKind !== 'human') return CLEARED;
  if (turnKind === 'diagnostic' && diagnosticsMuted) return CLEARED;
  if (!ledgerEnabled) return resumed(turn);
  if (isSilence) return { ...CLEARED, obligation: { kind: 'silence_notice', text: null } };
  if (ledgeredText === text) return CLEARED;
  return { ...CLEARED, obligation: { kind: 'answer', text } };
}

function resumed({ resumePending }: MarkedTurn): RecoveryDecision {
  const resumeReason = resumePending ?? 'restart_interrupted';
  return { ...CLEARED, resume: true, resumeReason, newlyPromoted: resumePending === null };
}
