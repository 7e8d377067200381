import type { LaneId, LaneRef, TenantId, Violation, WakeUp } from '@turnkeeper/core';
import { VirtualClock } from '@turnkeeper/core/testing';
import { createLogger, createMetrics } from '@turnkeeper/platform/telemetry';
import { expect, test } from 'vitest';
import { history, openWork } from './invariants.ts';

const { signal } = new AbortController();

function violation(over: Partial<Violation>): Violation {
  return {
    ...{ promise: 'P4', invariant: 'p4-open', tenantId: 't' as TenantId, laneId: 'l' as LaneId, slot: 3 },
    ...{ subject: 'e', subjectKind: 'events', detail: 'no resume', repairable: true },
    ...over,
  };
}

/** What is broken, and what a repair of each lane answers. */
function scene(broken: Violation[], repairs: Readonly<Record<string, string[]>> = {}) {
  const metrics = createMetrics({ service: 'coordinator', version: '0' });
  const lines: { msg: string; subject?: string }[] = [];
  const woken: WakeUp[] = [];
  const repaired: LaneRef[] = [];
  const options = {
    invariants: {
      names: async () => ['p4-open', 'p6-open'],
      history: async () => broken,
      openWork: async () => ({ violations: broken, nextSlot: 0 }),
      repair: async (lanes: readonly LaneRef[]) => {
        repaired.push(...lanes);
        return new Map(Object.entries(repairs) as [LaneId, string[]][]);
      },
    },
    ownership: { slotMap: async () => new Int16Array(4) },
    wakeUps: { wake: (_: number, wakeUps: readonly WakeUp[]) => void woken.push(...wakeUps) },
    live: { publish: () => undefined },
    clock: new VirtualClock(),
    logger: createLogger({ level: 'info', fields: {}, destination: { write: (line) => lines.push(JSON.parse(line)) } }),
    metrics,
  };
  const told = () => lines.filter(({ msg }) => msg === 'a promise is broken').map(({ subject }) => subject);
  return { options, metrics, told, woken, repaired, broken };
}

test('each lane with something repairable is repaired once, counted by what was put right, and woken', async () => {
  const { options, repaired, woken } = scene(
    [
      violation({ subject: 'a' }),
      violation({ subject: 'b' }),
      violation({ laneId: 'idle' as LaneId, invariant: 'p6-open', subject: 'c' }),
    ],
    { l: ['looked_for', 'resumed'] },
  );
  const sweep = openWork(options);
  expect(await sweep.run(signal), 'once may be a moment').toEqual({});
  expect([repaired, woken]).toEqual([[], []]);
  expect(await sweep.run(signal)).toEqual({ looked_for: 1, resumed: 1, woken: 1 });
  expect(repaired.map(({ laneId }) => laneId)).toEqual(['l', 'idle']);
  expect(woken.map(({ lane }) => lane.laneId)).toEqual(['l', 'idle']);
});

test('what one look finds and the next does not is neither told nor touched', async () => {
  const { broken, metrics, options, repaired, told, woken } = scene([violation({ subject: 'a' })]);
  const sweep = openWork(options);
  for (const subject of ['a', 'b', 'c']) {
    broken.splice(0, 1, violation({ subject }));
    expect(await sweep.run(signal)).toEqual({});
  }
  expect([repaired, woken, told()]).toEqual([[], [], []]);
  expect(await metrics.text()).toContain('turnkeeper_invariant_violations{invariant="p4-open"} 0');
});

test('what cannot be repaired is counted and logged once, and never touched', async () => {
  const { broken, metrics, options, repaired, told, woken } = scene([
    violation({ subject: 'a', repairable: false }),
    violation({ subject: 'b', repairable: false, slot: null }),
  ]);
  const sweep = openWork(options);
  expect(await sweep.run(signal)).toEqual({});
  expect(await sweep.run(signal)).toEqual({});
  expect(await history(options).run(signal)).toEqual({});
  expect([repaired, woken]).toEqual([[], []]);
  expect(told(), 'each sweep tells of each once').toEqual(['a', 'b', 'a', 'b']);
  expect(await metrics.text()).toContain('turnkeeper_invariant_violations{invariant="p4-open"} 2');
  expect(await metrics.text()).toContain('turnkeeper_invariant_violations{invariant="p6-open"} 0');

  broken.length = 0;
  await sweep.run(signal);
  expect(await metrics.text()).toContain('turnkeeper_invariant_violations{invariant="p4-open"} 0');
});

test('who leads no more tells of nothing', async () => {
  const { metrics, options } = scene([violation({ repairable: false })]);
  const sweep = openWork(options);
  await sweep.run(signal);
  await sweep.run(signal);
  expect(await metrics.text()).toContain('turnkeeper_invariant_violations{invariant="p4-open"} 1');
  sweep.end?.();
  expect(await metrics.text()).toContain('turnkeeper_invariant_violations{invariant="p4-open"} 0');
});

test('looks go over window after window, twice where anything is found, and what is known of the others stays told', async () => {
  const { metrics, options, repaired } = scene([]);
  const windows = new Map([
    [0, { violations: [violation({ subject: 'a', repairable: false })], nextSlot: 100 }],
    [100, { violations: [], nextSlot: 2000 }],
    [2000, { violations: [violation({ subject: 'b', laneId: 'late' as LaneId })], nextSlot: 0 }],
  ]);
  const looks: number[] = [];
  const openWindow = async ({ fromSlot }: { fromSlot: number }) => {
    looks.push(fromSlot);
    return windows.get(fromSlot) ?? { violations: [], nextSlot: 0 };
  };
  const sweep = openWork({ ...options, invariants: { ...options.invariants, openWork: openWindow } });
  for (let i = 0; i < 5; i++) await sweep.run(signal);
  expect(looks).toEqual([0, 0, 100, 2000, 2000]);
  expect(repaired.map(({ laneId }) => laneId)).toEqual(['late']);
  expect(await metrics.text()).toContain('turnkeeper_invariant_violations{invariant="p4-open"} 2');
  windows.set(0, { violations: [], nextSlot: 100 });
  for (let i = 0; i < 3; i++) await sweep.run(signal);
  expect(looks.slice(5)).toEqual([0, 100, 2000]);
});
