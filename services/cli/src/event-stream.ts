import { type StreamEvent, StreamEventSchema } from '@turnkeeper/protocol';
import { createParser } from 'eventsource-parser';

/** The server comments every 15 s. */
export const SILENCE_MS = 45_000;

/** One event as it came; `id` is where a reader goes on after it, null for those that are never sent again. */
export interface ReceivedEvent {
  readonly id: string | null;
  readonly event: StreamEvent;
}

const PLACE = 'cursor ';

/**
 * The events of an SSE body, as they come. One of a type that this program does not know says nothing to it. `onPlace`: told
 * where a reader stands to whom nothing has come for a while.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array>,
  onPlace?: (cursor: string) => void,
): AsyncGenerator<ReceivedEvent> {
  const ready: ReceivedEvent[] = [];
  const parser = createParser({
    onComment: (comment) => {
      if (comment.startsWith(PLACE)) onPlace?.(comment.slice(PLACE.length));
    },
    onEvent: ({ id, data }) => {
      const event = StreamEventSchema.loose().safeParse(JSON.parse(data));
      if (event.success) ready.push({ id: id ?? null, event: event.data });
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* ready.splice(0);
  }
}
