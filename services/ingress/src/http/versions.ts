import { AppError, StoreError } from '@turnkeeper/core';
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

/** Of two who change one thing at once, one wins: so many may come together before the last of them is sent away. */
const RACES_MAX = 100;
const BUSY_MAX = 5;

/**
 * Changes what was read: `change` is told the version that it builds on. Without `If-Match` the change is made again on
 * what somebody else made of it meanwhile.
 * @throws AppError `version_conflict` with `If-Match`, `overloaded` without it when others win again and again; StoreError
 */
export async function changingFrom<Row extends { readonly version: number }, T>(
  request: FastifyRequest,
  read: () => Promise<Row>,
  change: (row: Row, versions: readonly number[]) => Promise<T>,
): Promise<T> {
  const asked = ifVersions(request);
  let busy = 0;
  for (let races = 0; races < RACES_MAX; ) {
    const row = await read();
    const isWanted = asked === undefined || asked.includes(row.version);
    try {
      return await change(row, isWanted ? [row.version] : []);
    } catch (error) {
      const isRace = error instanceof AppError && error.code === 'version_conflict' && asked === undefined;
      // another change holds the row: nothing was written
      const isBusy = error instanceof StoreError && error.failure === 'busy' && ++busy < BUSY_MAX;
      if (!(isRace || isBusy)) throw error;
      if (isRace) races++;
    }
  }
  throw new AppError({ code: 'overloaded', retryable: true, message: 'too many change this at once; try again' });
}

/** For what has no versions to name. @throws AppError `version_conflict` for an `If-Match` other than `*` */
export function refuseVersions(request: FastifyRequest): void {
  if (ifVersions(request) === undefined) return;
  throw new AppError({ code: 'version_conflict', message: 'this has no versions: leave If-Match out' });
}
