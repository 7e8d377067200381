/** A message of a transcript as the rules of history see it. */
export interface TranscriptMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  /** Ids of the tool calls that an assistant message makes. */
  readonly calls: readonly string[];
  /** The call that a tool message is the result of. */
  readonly callId: string | null;
}

export interface WindowBounds {
  /** Messages at most. */
  readonly limit: number;
  /** Index of the first message that is not yet part of a summary. */
  readonly lastConsolidated: number;
}

export interface HistoryWindow {
  readonly error: 'invalid_limit' | null;
  /** Indices of the first and the last message kept; null when none is. What is kept is always a suffix. */
  readonly from: number | null;
  readonly to: number | null;
  readonly count: number;
}

/**
 * The newest messages that a model may be given: never more than the limit, never a tool result without its call, and
 * from a user message on where there is one (P11). It only ever moves its start forward.
 */
export function historyWindow(messages: readonly TranscriptMessage[], bounds: WindowBounds): HistoryWindow {
  if (!(bounds.limit > 0)) return { error: 'invalid_limit', from: null, to: null, count: 0 };
  const callAt = callsOfResults(messages);
  let from = Math.max(0, bounds.lastConsolidated, messages.length - bounds.limit);
  for (let start = -1; start !== from; ) {
    start = from;
    from = toUserMessage(messages, pastToolMessages(messages, from));
    from = pastPartedResults(callAt, from);
  }
  const count = Math.max(0, messages.length - from);
  return count === 0
    ? { error: null, from: null, to: null, count }
    : { error: null, from, to: messages.length - 1, count };
}

/** For each message the index of the call that it answers: the last one before it with that id. */
function callsOfResults(messages: readonly TranscriptMessage[]): (number | undefined)[] {
  const lastCall = new Map<string, number>();
  return messages.map(({ role, calls, callId }, i) => {
    if (role === 'assistant') for (const call of calls) lastCall.set(call, i);
    return role === 'tool' && callId !== null ? lastCall.get(callId) : undefined;
  });
}

function pastToolMessages(messages: readonly TranscriptMessage[], from: number): number {
  let start = from;
  while (messages[start]?.role === 'tool') start++;
  return start;
}

function toUserMessage(messages: readonly TranscriptMessage[], from: number): number {
  const user = messages.findIndex(({ role }, i) => i >= from && role === 'user');
  return user === -1 ? from : user;
}

/** Past the last kept result whose call is not kept. */
function pastPartedResults(callAt: readonly (number | undefined)[], from: number): number {
  const parted = callAt.findLastIndex((call, i) => i >= from && call !== undefined && call < from);
  return parted === -1 ? from : parted + 1;
}
