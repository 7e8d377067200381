import { isUuid } from '@turnkeeper/core';
import { expect, it } from 'vitest';
import { systemIds } from './clock.ts';

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
