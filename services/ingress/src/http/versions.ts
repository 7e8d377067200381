import { AppError, type Clock, type Ids, StoreError } from '@turnkeeper/core';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Says at which version the answer is, for a later `If-Match`. */
export function tag(reply: FastifyReply, { version }: { readonly version: number }): void {
  reply.header('etag', `"${version}"`);
}

/** The versions that `If-Match` lets through (RFC 9110); undefined = any. Tags that were never given out match nothing. */
export function ifVersions({ headers }: FastifyRequest): readonly number[] | undefined {
  const header = headers['if-match'];
  if (header === undefined || header.trim() === '*') return undefined;
  return header.split(',').flatMap((part) => {
    const digits = /^\s*"([0-9]{1,9})"\s*$/.exec(part)?.[1];
    return digits === undefined ? [] : [Number(digits)];
  });
}

/** How long a change may take to find its turn, and how it waits for that: jittered, so that those who met do not meet again. */
const CONTEST_MS_MAX = 10_000;
const PAUSE_BASE_MS = 10;
const PAUSE_CAP_MS = 500;

export interface Contest {
  readonly request: FastifyRequest;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'random'>;
}

/**
 * Changes what was read: `change` is told the version that it builds on. Without `If-Match` the change is made again on
 * what somebody else made of it meanwhile, after a pause that grows; and with or without, when the row was held.
 * @throws AppError `version_conflict` with `If-Match`, `overloaded` without it when others win again and again; StoreError
 */
export async function changingFrom<Row extends { readonly version: number }, T>(
  { request, clock, ids }: Contest,
  read: () => Promise<Row>,
  change: (row: Row, versions: readonly number[]) => Promise<T>,
): Promise<T> {
  const asked = ifVersions(request);
  const untilMs = clock.monotonicMs() + CONTEST_MS_MAX;
  for (let pauseMs = PAUSE_BASE_MS; ; pauseMs = Math.min(PAUSE_CAP_MS, pauseMs * 2)) {
    const row = await read();
    const isWanted = asked === undefined || asked.includes(row.version);
    try {
      return await change(row, isWanted ? [row.version] : []);
    } catch (error) {
      const isRace = error instanceof AppError && error.code === 'version_conflict' && asked === undefined;
      // another change holds the row: nothing was written
      const isBusy = error instanceof StoreError && error.failure === 'busy';
      const isOver = clock.monotonicMs() + pauseMs > untilMs;
      if (isRace && isOver) throw new AppError(CONTESTED);
      if (isOver || !(isRace || isBusy)) throw error;
      await clock.sleep(pauseMs * (0.5 + ids.random() / 2));
    }
  }
}

const CONTESTED = { code: 'overloaded', retryable: true, message: 'too many change this at once; try again' } as const;

/** For what has no versions to name. @throws AppError `version_conflict` for an `If-Match` other than `*` */
export function refuseVersions(request: FastifyRequest): void {
  if (ifVersions(request) === undefined) return;
  throw new AppError({ code: 'version_conflict', message: 'this has no versions: leave If-Match out' });
}
