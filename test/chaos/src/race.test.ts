import { expect, inject, test } from 'vitest';
import { MOMENTS, race } from './race.ts';

test("an event that arrives between 'queue empty' and 'release' waits for no sweep", async () => {
  const { arrived, doubled, lost } = await race({ urls: inject('urls'), rounds: 300 });
  expect(lost).toEqual([]);
  expect(doubled).toBe(0);
  // each place of the gap was met
  for (const moment of MOMENTS) expect(arrived[moment], moment).toBeGreaterThan(10);
}, 120_000);

test('the race finds a worker that does not look again', async () => {
  const broken = 'does not look again';
  const { lost } = await race({ urls: inject('urls'), rounds: 60, deadlineMs: 3_000, broken });
  expect(lost.length).toBeGreaterThan(0);
}, 60_000);
