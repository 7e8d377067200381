import type { SseConnection } from '../http/sse.ts';
import type { StreamSink } from './session-streams.ts';
import { eventIdOf } from './stream-filter.ts';

/** The events of a lane as server-sent events. `passes`: which types the reader wants. */
export function sseSink(connection: SseConnection, passes: (type: string) => boolean, now: () => string): StreamSink {
  return {
    durable: ({ seq, ...event }, cursor) => {
      if (passes(event.type)) connection.forward({ ...event, seq: String(seq) }, eventIdOf(cursor));
    },
    ephemeral: (event) => {
      if (passes(event.type)) connection.forward(event);
    },
    say: (type, data) => connection.send(type, data, { at: now() }),
    drained: () => connection.drained(),
  };
}

/** A lane is joined before its answer begins, so that a refusal is still an answer; nothing is sent before `begin`. */
export class LateSink implements StreamSink {
  target: StreamSink | null = null;

  readonly durable: StreamSink['durable'] = (event, cursor) => this.target?.durable(event, cursor);
  readonly ephemeral: StreamSink['ephemeral'] = (event) => this.target?.ephemeral(event);
  readonly say: StreamSink['say'] = (type, data) => this.target?.say(type, data);
  readonly drained: StreamSink['drained'] = async () => this.target?.drained();
}
