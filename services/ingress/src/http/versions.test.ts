import { AppError, StoreError } from '@turnkeeper/core';
import type { FastifyRequest } from 'fastify';
import { describe, expect, it } from 'vitest';
import { changingFrom, refuseVersions } from './versions.ts';

const requestWith = (ifMatch?: string) =>
  ({ headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } }) as unknown as FastifyRequest;
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
    const { read, change } = contested(63);
    expect(await changingFrom(requestWith(), read, change)).toBe(64);
    const other = contested(1);
    expect(await changingFrom(requestWith('*'), other.read, other.change)).toBe(2);
  });

  it('is sent away when others win for ever, and when the row stays locked', async () => {
    const lost = contested(Number.POSITIVE_INFINITY);
    await expect(changingFrom(requestWith(), lost.read, lost.change)).rejects.toMatchObject({ code: 'overloaded' });
    expect(lost.reads()).toBe(100);
    const locked = contested(Number.POSITIVE_INFINITY, busy);
    await expect(changingFrom(requestWith(), locked.read, locked.change)).rejects.toBeInstanceOf(StoreError);
    expect(locked.reads()).toBe(5);
  });
});

it('a change with If-Match is refused at once where the version is another', async () => {
  const { read, change, reads } = contested(0);
  await expect(changingFrom(requestWith('"7"'), read, change)).rejects.toMatchObject({ code: 'version_conflict' });
  expect(reads()).toBe(1);
});

it('what has no versions takes no If-Match but *', () => {
  expect(() => refuseVersions(requestWith('"1"'))).toThrow(AppError);
  for (const header of [undefined, '*']) expect(() => refuseVersions(requestWith(header))).not.toThrow();
});
