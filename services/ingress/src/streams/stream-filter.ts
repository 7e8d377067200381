import { AppError, STREAM_EVENTS } from '@turnkeeper/core';
import type { StreamQuery } from '@turnkeeper/protocol';

const TOOL_TYPES: ReadonlySet<string> = new Set(['tool.delta', 'tool.started', 'step.committed']);
const DELTA_TYPES: ReadonlySet<string> = new Set(['message.delta', 'reasoning.delta', 'tool.delta', 'turn.snapshot']);

const VISITOR_TYPES: ReadonlySet<string> = new Set(
  Object.entries(STREAM_EVENTS).flatMap(([type, { visitors }]) => (visitors ? [type] : [])),
);

/** Which types a reader wants, and may have. What is said about the stream itself always passes. */
export function streamFilter(
  { types, deltas, tools }: Pick<StreamQuery, 'types' | 'deltas' | 'tools'>,
  reader: 'key' | 'visitor' = 'key',
): (type: string) => boolean {
  const wanted = types && new Set<string>(types);
  return (type) => {
    if (reader === 'visitor' && !VISITOR_TYPES.has(type)) return false;
    if (type.startsWith('stream.')) return true;
    if (wanted !== undefined && !wanted.has(type)) return false;
    if (deltas === 'false' && DELTA_TYPES.has(type)) return false;
    return !(tools === 'none' && TOOL_TYPES.has(type));
  };
}

/** Where a reader goes on: behind this seq, or, when `told` is not 0, behind so many of the events that share it. */
export interface StreamCursor {
  readonly seq: number;
  readonly told: number;
}

const EVENT_ID = /^([0-9]{1,15})(?:\.([0-9]{1,4}))?$/;

/**
 * The id of an event: the seq, once all that share it have been sent; before that `seq.told`, so that a reader that is
 * cut off between them misses none.
 */
export function eventIdOf({ seq, told }: StreamCursor): string {
  return told === 0 ? String(seq) : `${seq}.${told}`;
}

/**
 * Null = from now on. `Last-Event-ID` is what the reader's browser remembers.
 * @throws AppError `invalid_cursor` when it is no id of an event: to begin now would hide what was missed
 */
export function cursorOf({ after, seq, lastSeq }: StreamQuery, lastEventId: unknown): StreamCursor | null {
  const [, id, told = '0'] = (typeof lastEventId === 'string' && EVENT_ID.exec(lastEventId)) || [];
  if (id !== undefined) return { seq: Number(id), told: Number(told) };
  if (lastEventId !== undefined && lastEventId !== '') {
    throw new AppError({ code: 'invalid_cursor', message: 'Last-Event-ID is not the id of an event of this stream' });
  }
  const from = after ?? lastSeq ?? seq;
  return from === undefined ? null : { seq: from, told: 0 };
}
