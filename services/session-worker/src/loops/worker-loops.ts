import type {
  BootId,
  LaneRunner,
  Repeated,
  Scheduler,
  TenantCaps,
  TenantSlots,
  TurnKeeper,
  Turns,
} from '@turnkeeper/core';
import type { Activations } from './activations.ts';
import type { Membership } from './membership.ts';

export interface WorkerLoopsParts {
  readonly bootId: BootId;
  readonly membership: Membership;
  readonly activations: Activations;
  readonly keeper: TurnKeeper;
  readonly turns: Turns;
  readonly scheduler: Scheduler;
  readonly runner: LaneRunner;
  readonly caps: TenantCaps;
  readonly slots: TenantSlots;
  /** The same loop, watched: it must come round. */
  readonly vital: (loop: Repeated) => Repeated;
  /** More memory is in use than should be. */
  readonly memoryIsShort: () => boolean;
  readonly keepHeap: () => void;
  readonly transcripts: { relieve(): number };
  readonly redisIsAway: () => boolean;
  readonly postgresIsUp: (isUp: boolean) => void;
}

const SCAN_MS = 2_000;
const SCAN_MS_WITHOUT_REDIS = 1_000;
const SCAN_TICK_MS = 250;

/** What a worker does again and again, each in a loop of its own so that none waits for another. */
export function workerLoops(parts: WorkerLoopsParts): Repeated[] {
  const { membership, activations, keeper, turns, scheduler, runner, caps } = parts;
  return [
    parts.vital({ name: 'heartbeat', everyMs: 500, work: () => beat(parts) }),
    { name: 'partitions', everyMs: 500, work: () => membership.settlePartitions() },
    { name: 'slot map', everyMs: 10_000, work: () => membership.refreshSlotMap() },
    { name: 'scan', everyMs: SCAN_TICK_MS, work: scans(activations, parts.redisIsAway) },
    { name: 'poll of running turns', everyMs: 1_000, work: () => keeper.poll() },
    { name: 'search for unknown turns', everyMs: 5_000, work: () => keeper.handBackUnknown() },
    { name: 'lane locks', everyMs: 1_000, work: () => keeper.renewLocks() },
    { name: 'turn limits', everyMs: 250, work: async () => turns.expire() },
    { name: 'turn slots', everyMs: 500, work: () => exchangeSlots(parts) },
    { name: 'tenant limits', everyMs: 5_000, work: () => caps.refresh() },
    {
      name: 'memory',
      everyMs: 1_000,
      work: async () => {
        parts.keepHeap();
        if (parts.memoryIsShort()) parts.transcripts.relieve();
      },
    },
    {
      name: 'waiting lanes',
      everyMs: 100,
      work: async () => {
        scheduler.wakeDeferred();
        runner.endLinger();
        runner.pump();
      },
    },
  ];
}

async function beat({ membership, postgresIsUp }: WorkerLoopsParts): Promise<void> {
  try {
    await membership.beat();
    postgresIsUp(true);
  } catch (error) {
    postgresIsUp(false);
    throw error;
  }
}

/** Partitions just taken are scanned at the next tick, all every two seconds, every second while Redis is away. */
function scans(activations: Activations, redisIsAway: () => boolean): () => Promise<void> {
  let sinceAllMs = 0;
  return async () => {
    sinceAllMs += SCAN_TICK_MS;
    const isDue = sinceAllMs >= (redisIsAway() ? SCAN_MS_WITHOUT_REDIS : SCAN_MS);
    if (isDue) sinceAllMs = 0;
    await activations.scan(isDue ? 'all' : 'due');
  };
}

async function exchangeSlots({ bootId, slots, scheduler, caps, membership, runner }: WorkerLoopsParts): Promise<void> {
  caps.exchanged(await slots.exchange(bootId, scheduler.slotsByTenant()), membership.liveWorkers);
  scheduler.capsChanged();
  runner.pump();
}
