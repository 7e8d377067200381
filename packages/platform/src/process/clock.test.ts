import { isUuid } from '@turnkeeper/core';
import { expect, it } from 'vitest';
import { systemClock, systemIds } from './clock.ts';

it('ids are UUIDv7 of this moment, each another', () => {
  const beforeMs = Date.now();
  const ids = Array.from({ length: 1000 }, () => systemIds.next());
  const afterMs = Date.now();
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) {
    expect(isUuid(id)).toBe(true);
    expect(id).toMatch(/^.{14}7.{4}[89ab]/);
    const atMs = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
    expect(atMs).toBeGreaterThanOrEqual(beforeMs);
    expect(atMs).toBeLessThanOrEqual(afterMs);
  }
});

it('a sleep ends with its time, or with its signal, and leaves no listener behind', async () => {
  const abort = new AbortController();
  const removed: string[] = [];
  const remove = abort.signal.removeEventListener.bind(abort.signal);
  abort.signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    removed.push(args[0]);
    remove(...args);
  };
  await systemClock.sleep(1, abort.signal);
  expect(removed).toEqual(['abort']);
  const long = systemClock.sleep(60_000, abort.signal);
  abort.abort();
  await long;
  await systemClock.sleep(60_000, abort.signal);
  expect(removed).toEqual(['abort', 'abort']);
});
