import type {
  Clock,
  ControlSignals,
  DatabaseHealth,
  InputStore,
  Invariants,
  LaneRetention,
  LiveStream,
  Logger,
  OwnershipStore,
  RepairStore,
  ResumeBreaker,
  SessionAging,
  TenantErasure,
  Tracer,
  UsageCounting,
  WakeUps,
} from '@turnkeeper/core';
import { OwnerlessPartitions } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { deadProcesses } from './dead-processes.ts';
import { deliveries } from './deliveries.ts';
import { expiredInputs } from './expired-inputs.ts';
import { falseDeaths } from './false-deaths.ts';
import { forgottenLanes } from './forgotten-lanes.ts';
import { history, openWork } from './invariants.ts';
import { lostTurns } from './lost-turns.ts';
import { partitions } from './partitions.ts';
import { retention } from './retention.ts';
import { sessionLifecycle } from './session-lifecycle.ts';
import type { SweepGroup } from './sweep.ts';
import { tenantErasure } from './tenant-erasure.ts';
import { tenantLoad } from './tenant-load.ts';
import { usage } from './usage.ts';

export interface AllSweepsOptions {
  readonly repair: RepairStore;
  readonly invariants: Invariants;
  readonly inputs: Pick<InputStore, 'expire'>;
  readonly aging: SessionAging;
  readonly lanes: LaneRetention;
  readonly erasure: TenantErasure;
  readonly counting: UsageCounting;
  readonly ownership: Pick<OwnershipStore, 'slotMap' | 'view'>;
  readonly health: DatabaseHealth;
  readonly signals: Pick<ControlSignals, 'sayGoodbye'>;
  readonly wakeUps: WakeUps;
  /** Tells readers that rows of a lane have changed. */
  readonly live: Pick<LiveStream, 'publish'>;
  readonly leaseMs: number;
  readonly breaker: ResumeBreaker;
  readonly settledDays: number;
  readonly dedupeDays: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tracer: Tracer;
  readonly metrics: Metrics;
}

/** Everything the leader does, and how often. A lost worker's turns go on right after it was declared dead. */
export function allSweeps(options: AllSweepsOptions): SweepGroup[] {
  const { clock, metrics } = options;
  const takeovers = metrics.counter('takeovers_total');
  const staleFences = metrics.counter('stale_fence_total');
  return [
    {
      everyMs: 250,
      sweeps: [
        deadProcesses({ ...options, takeovers }),
        lostTurns({
          ...options,
          resumes: metrics.counter('resumes_total'),
          parked: metrics.counter('events_parked'),
          delay: metrics.histogram('takeover_delay_seconds'),
        }),
      ],
    },
    {
      everyMs: 500,
      sweeps: [
        partitions({
          ...options,
          ownerless: new OwnerlessPartitions(clock),
          missing: metrics.gauge('partition_owner_missing_seconds'),
        }),
      ],
    },
    {
      everyMs: 1_000,
      sweeps: [deliveries(options), expiredInputs(options), falseDeaths({ ...options, takeovers, staleFences })],
    },
    { everyMs: 2_000, sweeps: [tenantLoad(options)] },
    { everyMs: 5_000, sweeps: [tenantErasure(options)] },
    { everyMs: 5_000, sweeps: [openWork(options)] },
    { everyMs: 60_000, sweeps: [history(options)] },
    { everyMs: 15_000, sweeps: [usage(options)] },
    { everyMs: 60_000, sweeps: [sessionLifecycle(options), retention(options), forgottenLanes(options)] },
  ];
}
