import { AppError, STREAM_EVENTS } from '@turnkeeper/core';
import { EventIdSchema, type StreamCursorQuery, type StreamFilterQuery } from '@turnkeeper/protocol';

const DELTA_TYPES: ReadonlySet<string> = new Set(['message.delta', 'reasoning.delta', 'tool.delta', 'turn.snapshot']);

const VISITOR_TYPES: ReadonlySet<string> = new Set(
  Object.entries(STREAM_EVENTS).flatMap(([type, { visitors }]) => (visitors ? [type] : [])),
);

/** What a reader gets of tools, and of what a model thinks, unless it names types of its own. */
const HIDDEN: Readonly<Record<NonNullable<StreamFilterQuery['tools']>, ReadonlySet<string>>> = {
  none: new Set(['tool.started', 'step.committed', 'tool.delta', 'reasoning.delta']),
  names: new Set(['tool.delta', 'reasoning.delta']),
  full: new Set(),
};

/** Which types a reader wants, and may have. What is said about the stream itself always passes. */
export function streamFilter(
  { types, deltas, tools }: StreamFilterQuery,
  reader: 'key' | 'visitor' = 'key',
): (type: string) => boolean {
  const wanted = types && new Set<string>(types);
  const hidden = tools === undefined && wanted !== undefined ? HIDDEN.full : HIDDEN[tools ?? 'names'];
  return (type) => {
    if (reader === 'visitor' && !VISITOR_TYPES.has(type)) return false;
    if (type.startsWith('stream.')) return true;
    if (wanted !== undefined && !wanted.has(type)) return false;
    if (deltas === 'false' && DELTA_TYPES.has(type)) return false;
    return !hidden.has(type);
  };
}

/** Where a reader goes on: behind this seq, or, when `told` is not 0, behind so many of the events that share it. */
export interface StreamCursor {
  readonly seq: number;
  readonly told: number;
}

/**
 * The id of an event: the seq, once all that share it have been sent; before that `seq.told`, so that a reader that is
 * cut off between them misses none.
 */
export function eventIdOf({ seq, told }: StreamCursor): string {
  return told === 0 ? String(seq) : `${seq}.${told}`;
}

/**
 * Null = none given. `Last-Event-ID` is what the reader's browser remembers; it goes before the query.
 * @throws AppError `invalid_cursor` when it is no id of an event: to begin now would hide what was missed
 */
export function cursorOf({ after, seq, lastSeq }: StreamCursorQuery, lastEventId: unknown): StreamCursor | null {
  if (lastEventId === undefined || lastEventId === '') return after ?? lastSeq ?? seq ?? null;
  const cursor = EventIdSchema.safeParse(lastEventId);
  if (cursor.success) return cursor.data;
  throw new AppError({ code: 'invalid_cursor', message: 'Last-Event-ID is not the id of an event of this stream' });
}
