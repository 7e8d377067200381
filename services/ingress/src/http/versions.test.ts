import { AppError, StoreError } from '@turnkeeper/core';
import { SeededIds, VirtualClock } from '@turnkeeper/core/testing';
import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { changingFrom, refuseVersions } from './versions.ts';

const requestWith = (ifMatch?: string) =>
  ({ headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } }) as unknown as FastifyRequest;
const ids = new SeededIds();

/** A minute of a clock of its own: longer than any change may take. */
async function changing(request: FastifyRequest, { read, change }: ReturnType<typeof contested>): Promise<number> {
  const clock = new VirtualClock();
  const changed = changingFrom({ request, clock, ids }, read, change);
  await Promise.all([changed.catch(() => undefined), clock.advance(60_000)]);
  return changed;
}

const conflict = () => new AppError({ code: 'version_conflict', message: 'It is at another version now.' });
const busy = () => new StoreError({ failure: 'busy', state: '55P03', message: 'locked' });

/** A thing that somebody else changes each of the first `times` times that it was read. */
function contested(times: number, fault: () => Error = conflict) {
  let reads = 0;
  const read = async () => ({ version: ++reads });
  const change = async ({ version }: { version: number }, versions: readonly number[]) => {
    if (reads <= times || !versions.includes(version)) throw fault();
    return version;
  };
  return { read, change, reads: () => reads };
}

describe('a change without If-Match', () => {
  it('is made again on what others made of the thing meanwhile, and never answers 412', async () => {
    expect(await changing(requestWith(), contested(15))).toBe(16);
    expect(await changing(requestWith('*'), contested(1))).toBe(2);
  });

  it('is sent away when others win for ever, and when the row stays locked', async () => {
    const lost = contested(Number.POSITIVE_INFINITY);
    await expect(changing(requestWith(), lost)).rejects.toMatchObject({ code: 'overloaded' });
    expect(lost.reads()).toBeLessThan(60);
    const locked = contested(Number.POSITIVE_INFINITY, busy);
    await expect(changing(requestWith(), locked)).rejects.toBeInstanceOf(StoreError);
    expect(locked.reads()).toBeLessThan(60);
  });
});

it('a change with If-Match is refused at once where the version is another', async () => {
  const other = contested(0);
  await expect(changing(requestWith('"7"'), other)).rejects.toMatchObject({ code: 'version_conflict' });
  expect(other.reads()).toBe(1);
});

it('what has no versions takes no If-Match but *', () => {
  expect(() => refuseVersions(requestWith('"1"'))).toThrow(AppError);
  for (const header of [undefined, '*']) expect(() => refuseVersions(requestWith(header))).not.toThrow();
});
