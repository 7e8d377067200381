import { type StreamEvent, StreamEventSchema } from '@turnkeeper/protocol';
import { createParser } from 'eventsource-parser';

/** The server comments every 15 s. */
export const SILENCE_MS = 45_000;

/** One event as it came; `id` is where a reader goes on after it, null for those that are never sent again. */
export interface ReceivedEvent {
  readonly id: string | null;
  readonly event: StreamEvent;
}

/** The events of an SSE body, as they come. One of a type that this program does not know says nothing to it. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ReceivedEvent> {
  const ready: ReceivedEvent[] = [];
  const parser = createParser({
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
