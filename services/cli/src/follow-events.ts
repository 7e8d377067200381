import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@turnkeeper/core';
import type { StreamEvent } from '@turnkeeper/protocol';
import { request } from 'undici';
import { readRefusal } from './api.ts';
import { readEvents, SILENCE_MS } from './event-stream.ts';
import { CliError, EXIT, exitCodeOf } from './exit.ts';

export interface FollowedStream {
  readonly url: string;
  readonly key: string;
  /** From the root, with its query. */
  readonly path: string;
  readonly signal: AbortSignal;
  /** Told when the stream broke and is opened again. */
  readonly onRetry: () => void;
}

const TRIES_MAX = 6;
/** Once it has answered: a cluster that is stopped and started again is back within this, however slow the machine. */
const PATIENCE_MS = 180_000;
const BACKOFF_MS = 300;
const BACKOFF_MS_MAX = 5_000;

/**
 * Yields the events of a stream until the signal aborts. A stream that ends or breaks is opened again behind the last event
 * that has an id, or where it said to stand before one came, so none of those is missed or seen twice.
 * @throws CliError `unreachable` when nothing answers six times in a row, or for three minutes once something has;
 *   AppError when the server refuses
 */
export async function* followEvents(stream: FollowedStream): AsyncGenerator<StreamEvent> {
  let lastId: string | null = null;
  let lastHeardMs: number | null = null;
  for (let tries = 1; !stream.signal.aborted; tries++) {
    try {
      const onPlace = (cursor: string) => {
        lastId = cursor;
      };
      for await (const { id, event } of openStream(stream, lastId, onPlace)) {
        tries = 1;
        lastHeardMs = performance.now();
        lastId = id ?? cursorIn(event) ?? lastId;
        // it says when to come back, and the next one says the rest
        if (event.type !== 'stream.closing') yield event;
      }
    } catch (error) {
      if (stream.signal.aborted) return;
      const isLost = lastHeardMs === null ? tries >= TRIES_MAX : performance.now() > lastHeardMs + PATIENCE_MS;
      if (exitCodeOf(error) !== EXIT.unreachable || isLost) throw error;
      stream.onRetry();
    }
    const pauseMs = Math.min(BACKOFF_MS * 2 ** tries, BACKOFF_MS_MAX);
    await sleep(pauseMs * (0.5 + Math.random() / 2), undefined, { signal: stream.signal }).catch((error: unknown) => {
      if (!stream.signal.aborted) throw error;
    });
  }
}

/** Where the stream says that its reader stands, before anything that has an id. */
function cursorIn({ type, data }: StreamEvent): string | null {
  if (type !== 'stream.open' && type !== 'stream.replayed') return null;
  return typeof data['cursor'] === 'string' ? data['cursor'] : null;
}

async function* openStream(
  { url, key, path, signal }: FollowedStream,
  lastId: string | null,
  onPlace: (cursor: string) => void,
) {
  try {
    const answer = await request(url + path, {
      headers: { authorization: `Bearer ${key}`, ...(lastId !== null && { 'last-event-id': lastId }) },
      ...{ signal, headersTimeout: SILENCE_MS, bodyTimeout: SILENCE_MS },
    });
    if (answer.statusCode >= 400) throw readRefusal(answer.statusCode, await answer.body.text());
    yield* readEvents(answer.body, onPlace);
  } catch (cause) {
    if (signal.aborted || cause instanceof AppError) throw cause;
    throw new CliError('unreachable', `Nothing answers at ${url}: is the cluster running ("npm start")?`, cause);
  }
}
