import { AppError } from '@turnkeeper/core';
import { type Dispatcher, request } from 'undici';
import { readRefusal } from '../api.ts';
import { type ReceivedEvent, readEvents, SILENCE_MS } from '../event-stream.ts';
import { CliError } from '../exit.ts';

export interface StreamCall {
  readonly url: string;
  readonly key: string;
  /** From the root; `GET` unless there is a body. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * Yields the events of a run as they come.
 * @throws CliError `unreachable` when nothing answers or the stream breaks; AppError with the server's code when it refuses
 */
export async function* streamRun({ url, key, path, body, signal, ...call }: StreamCall): AsyncGenerator<ReceivedEvent> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...call.headers,
  };
  const how: { method: Dispatcher.HttpMethod; body: string | null } =
    body === undefined ? { method: 'GET', body: null } : { method: 'POST', body: JSON.stringify(body) };
  const unreachable = (cause: unknown) => {
    if (signal.aborted || cause instanceof AppError) return cause;
    return new CliError('unreachable', `Nothing answers at ${url}: is the cluster running ("npm start")?`, cause);
  };
  try {
    const timeouts = { headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS };
    const answer = await request(url + path, { ...how, ...timeouts, headers, signal });
    if (answer.statusCode >= 400) throw readRefusal(answer.statusCode, await answer.body.text());
    yield* readEvents(answer.body);
  } catch (cause) {
    throw unreachable(cause);
  }
}
