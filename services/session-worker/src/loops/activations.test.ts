import { type LaneId, type LaneRef, type ReadyLane, Scheduler, type TenantId, type WakeUp } from '@turnkeeper/core';
import { VirtualClock } from '@turnkeeper/core/testing';
import { describe, expect, it } from 'vitest';
import { Activations } from './activations.ts';

type OnWakeUps = (wakeUps: readonly WakeUp[] | 'scan') => void;

function lane(name: string): LaneRef {
  return { slot: 1, tenantId: 'tenant' as TenantId, laneId: name as LaneId };
}

function scene() {
  const scheduler = new Scheduler({
    ...{ clock: new VirtualClock(), slotsMax: 9, capOf: () => 9, lanesMax: 9 },
    ...{ slice: { turns: 4, ms: 2000 }, deferMs: 1000, lingerMs: 0 },
  });
  const log: string[] = [];
  const received: [number, readonly WakeUp[]][] = [];
  const scanned: number[] = [];
  let onHint: OnWakeUps = () => undefined;
  let ready: ReadyLane[] = [];
  const activations = new Activations({
    scheduler,
    scanMax: 100,
    hints: {
      listen: ({ onWakeUps }) => {
        onHint = onWakeUps;
        return () => log.push('hints stopped');
      },
    },
    jobs: {
      consume: ({ partition }) => {
        log.push(`consume ${partition}`);
        return {
          close: async () => {
            log.push('jobs stopped');
          },
        };
      },
    },
    store: {
      scan: async (partitions) => {
        scanned.push(...partitions);
        return ready;
      },
    },
    runner: { receive: (partition, wakeUps) => received.push([partition, wakeUps]) },
    onOpen: () => log.push('opened'),
    onNudge: ({ laneId }: LaneRef) => log.push(`nudged ${laneId}`),
  });
  const setReady = (...lanes: LaneRef[]) => {
    ready = lanes.map((ref) => ({ ...ref, maxOrd: '5' }));
  };
  return {
    activations,
    scheduler,
    log,
    received,
    scanned,
    setReady,
    hint: (some: Parameters<OnWakeUps>[0]) => onHint(some),
  };
}

describe('wake-ups of a partition', () => {
  it('reach the runner while it is open', () => {
    const { activations, received, hint } = scene();
    activations.open(3);
    const wakeUps = [{ lane: lane('a'), ord: '1' }];
    hint(wakeUps);
    expect(received).toEqual([[3, wakeUps]]);
  });

  it('say that a lane may owe a delivery when they name no event', () => {
    const { activations, log, hint } = scene();
    activations.open(3);
    hint([
      { lane: lane('told'), ord: '1' },
      { lane: lane('spoken-to'), ord: null },
    ]);
    expect(log.slice(2)).toEqual(['nudged spoken-to']);
  });

  it('are stopped on both ways when it is closed', async () => {
    const { activations, log } = scene();
    activations.open(3);
    activations.open(3);
    await activations.close(3);
    expect(log).toEqual(['consume 3', 'opened', 'hints stopped', 'jobs stopped']);
  });
});

describe('the scan', () => {
  it('follows an opening, once, and then comes for all', async () => {
    const { activations, scanned } = scene();
    activations.open(3);
    activations.open(4);
    await activations.scan('due');
    await activations.scan('due');
    expect(scanned).toEqual([3, 4]);
    await activations.scan('all');
    expect(scanned).toEqual([3, 4, 3, 4]);
  });

  it('is made when a wake-up names no lanes', async () => {
    const { activations, scanned, hint } = scene();
    activations.open(3);
    await activations.scan('due');
    hint('scan');
    await activations.scan('due');
    expect(scanned).toEqual([3, 3]);
  });

  it('brings what the scheduler lacks, to be looked at whatever was claimed before', async () => {
    const { activations, scheduler, received, setReady } = scene();
    activations.open(3);
    scheduler.wake(lane('known'), null);
    setReady(lane('known'), lane('lost'));
    await activations.scan('all');
    expect(received).toEqual([[3, [{ lane: lane('lost'), ord: null }]]]);
  });

  it('brings nothing of a partition that was closed meanwhile', async () => {
    const { activations, received, setReady } = scene();
    activations.open(3);
    setReady(lane('a'));
    const scan = activations.scan('all');
    await activations.close(3);
    await scan;
    expect(received).toEqual([]);
  });
});
