import { type LaneId, Scheduler, type TenantId } from '@turnkeeper/core';
import { VirtualClock } from '@turnkeeper/core/testing';
import type { Progress, Vital } from '@turnkeeper/platform/process';
import { expect, test } from 'vitest';
import { watchWork } from './vital-signs.ts';

/** What the vitals of a worker are told, without the time that they give it. */
function scene() {
  const clock = new VirtualClock();
  const scheduler = new Scheduler({
    ...{ clock, slotsMax: 1, lanesMax: 10, deferMs: 1000, lingerMs: 0 },
    slice: { turns: 4, ms: 2000 },
    capOf: () => 1,
  });
  const still: Progress = { isDue: false, steps: 0 };
  const batches = { progress: { claims: still, ends: still } };
  const lease = { isSafe: true };
  const seen = new Map<string, () => Progress>();
  const reasons: (() => string | null)[] = [];
  watchWork(
    {
      vitals: {
        watchProgress: (name: Vital['name'], progress: () => Progress) => {
          seen.set(name, progress);
        },
      },
      readiness: {
        unless: (reason: () => string | null) => {
          reasons.push(reason);
        },
      },
    },
    { scheduler, batches, lease },
  );
  const isDue = (name: string) => seen.get(name)?.().isDue;
  const wake = (name: string) => scheduler.wake({ slot: 1, tenantId: 't' as TenantId, laneId: name as LaneId }, null);
  return { scheduler, batches, lease, isDue, wake, unready: () => reasons.map((reason) => reason()) };
}

test('a lane that could be claimed is due; one that waits for a slot is not', () => {
  const { scheduler, isDue, wake } = scene();
  expect(isDue('claims')).toBe(false);
  wake('a');
  expect(isDue('claims')).toBe(true);
  scheduler.next(1);
  wake('b');
  expect(isDue('claims')).toBe(false);
});

test('a claim or a commit in flight is due', () => {
  const { batches, isDue } = scene();
  batches.progress.claims = { isDue: true, steps: 3 };
  expect(isDue('claims')).toBe(true);
  expect(isDue('commits')).toBe(false);
  batches.progress.ends = { isDue: true, steps: 0 };
  expect(isDue('commits')).toBe(true);
});

test('while the database does not answer nothing is due, and the worker is not ready', () => {
  const { batches, lease, isDue, unready, wake } = scene();
  wake('a');
  batches.progress.ends = { isDue: true, steps: 0 };
  expect(unready()).toEqual([null]);
  lease.isSafe = false;
  expect([isDue('claims'), isDue('commits')]).toEqual([false, false]);
  expect(unready()).toEqual(['store_unavailable']);
});
