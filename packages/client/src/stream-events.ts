import type { StreamEvent as Envelope, StreamEventData } from '@turnkeeper/protocol';

type Type = Envelope['type'];
type DataOf<T extends Type> = T extends keyof StreamEventData ? StreamEventData[T] : Readonly<Record<string, unknown>>;
type EventOf<T extends Type> = T extends Type
  ? Readonly<Omit<Envelope, 'type' | 'data'>> & {
      readonly type: T;
      readonly data: DataOf<T>;
      /** Of durable events: where to go on after this one. Keep it, and give it as `after` next time. */
      readonly cursor?: string;
    }
  : never;

/** An event of a stream, as docs/streaming.md tells: `type` says what `data` is. */
export type StreamEvent = EventOf<Type>;

/** Which events are streamed. */
export interface EventFilter {
  /** Only these, and what is said about the stream itself. */
  readonly types?: readonly StreamEvent['type'][] | undefined;
  readonly deltas?: boolean | undefined;
  readonly tools?: 'none' | 'names' | 'full' | undefined;
}
