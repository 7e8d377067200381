import { AppError } from '@turnkeeper/core';
import type { StreamEvent } from '@turnkeeper/protocol';
import { request } from 'undici';
import { readRefusal } from '../api.ts';
import { readEvents, SILENCE_MS } from '../event-stream.ts';
import { CliError } from '../exit.ts';

export interface StreamCall {
  readonly url: string;
  readonly key: string;
  readonly body: unknown;
  /** The same for every try of one message. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
}

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
    for await (const { event } of readEvents(answer.body)) yield event;
  } catch (cause) {
    throw unreachable(cause);
  }
}
