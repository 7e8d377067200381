import { AppError } from '@turnkeeper/core';
import { type StreamEvent, StreamEventSchema } from '@turnkeeper/protocol';
import { createParser } from 'eventsource-parser';
import { request } from 'undici';
import { readRefusal } from '../api.ts';
import { CliError } from '../exit.ts';

export interface StreamCall {
  readonly url: string;
  readonly key: string;
  readonly body: unknown;
  /** The same for every try of one message. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

/** The server comments every 15 s. */
const SILENCE_MS = 45_000;

/**
 * Sends a message and yields the events of its run as they come.
 * @throws CliError `unreachable` when nothing answers or the stream breaks; AppError with the server's code when it refuses
 */
export async function* streamRun({ url, key, body, idempotencyKey, signal }: StreamCall): AsyncGenerator<StreamEvent> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'idempotency-key': idempotencyKey,
  };
  const unreachable = (cause: unknown) => {
    if (signal.aborted || cause instanceof AppError) return cause;
    return new CliError('unreachable', `Nothing answers at ${url}: is the cluster running ("npm start")?`, cause);
  };
  try {
    const answer = await request(`${url}/v1/messages?stream=true`, {
      ...{ method: 'POST', headers, body: JSON.stringify(body), signal },
      ...{ headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS },
    });
    if (answer.statusCode >= 400) throw readRefusal(answer.statusCode, await answer.body.text());
    const ready: StreamEvent[] = [];
    const parser = createParser({ onEvent: ({ data }) => ready.push(...eventsOf(data)) });
    const decoder = new TextDecoder();
    for await (const chunk of answer.body) {
      parser.feed(decoder.decode(chunk, { stream: true }));
      yield* ready.splice(0);
    }
  } catch (cause) {
    throw unreachable(cause);
  }
}

/** An event of a type that this program does not know says nothing to it. */
function eventsOf(data: string): StreamEvent[] {
  const event = StreamEventSchema.loose().safeParse(JSON.parse(data));
  return event.success ? [event.data] : [];
}
