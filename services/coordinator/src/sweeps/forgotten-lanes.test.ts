import type { AgedLane, LaneId, LaneRetention, Logger, TenantId } from '@turnkeeper/core';
import { expect, it } from 'vitest';
import { forgottenLanes } from './forgotten-lanes.ts';

const laneOf = (name: string) => ({ slot: 1, tenantId: 'tenant' as TenantId, laneId: name as LaneId });
const aged = (name: string, over: Partial<AgedLane> = {}): AgedLane => ({
  lane: laneOf(name),
  ...{ maxAgeDays: 30, idleDays: 31, suspended: false, activeWork: 'none', seen: name },
  ...over,
});

it('forgets what core says is to be forgotten, and of a page of the oldest as many as there are too many', async () => {
  const forgotten: string[][] = [];
  const asked: number[] = [];
  const lanes: LaneRetention = {
    aged: async ({ defaultDays }) => {
      asked.push(defaultDays);
      return [aged('old'), aged('working', { activeWork: 'running' }), aged('young', { idleDays: 29 })];
    },
    crowded: async () => [
      {
        ...{ lanesMax: 100, lanes: 102 },
        oldest: ['a', 'b', 'c', 'd'].map((name, i) => ({
          ...{ lane: laneOf(name), updatedAt: new Date(i), running: name === 'a', seen: name },
        })),
      },
    ],
    forget: async (gone) => {
      forgotten.push(gone.map(({ seen }) => seen));
      return gone.length;
    },
  };
  const logger = { info: () => undefined } as unknown as Logger;
  await forgottenLanes({ lanes, logger, settledDays: 7 }).run(new AbortController().signal);
  expect([asked, forgotten]).toEqual([[7], [['old'], ['b', 'c']]]);
});
