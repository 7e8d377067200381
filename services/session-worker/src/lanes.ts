import { OpenAccounts } from '@turnkeeper/channels';
import * as core from '@turnkeeper/core';
import type { Egress } from '@turnkeeper/platform/egress';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { earlierEvents } from './agents/earlier-events.ts';
import { agentRuntimes } from './agents/runtimes.ts';
import { TranscriptCache } from './agents/transcript-cache.ts';
import type { SessionWorkerConfig } from './config.ts';
import type { Membership } from './loops/membership.ts';
import { AccountChannels } from './loops/reply-channels.ts';
import { TurnTraces } from './tracing/turn-traces.ts';
import type { WorkerMetrics } from './worker-metrics.ts';

export interface LaneParts {
  readonly bootId: core.BootId;
  readonly config: SessionWorkerConfig;
  readonly lanes: core.LaneStore;
  readonly deliveries: core.DeliveryStore;
  readonly transcripts: core.TranscriptStore & core.EarlierEvents & core.StoppedWordsStore;
  readonly inputs: core.InputStore;
  readonly attachments: core.AttachmentRecords & core.AttachmentBytes;
  readonly agents: core.AgentConfigs;
  readonly tenants: core.TenantConfigs;
  readonly accounts: core.AccountConfigs;
  readonly locks: core.LaneLocks;
  readonly wakeUps: core.WakeUps;
  readonly live: core.LiveStream;
  readonly snapshots: core.Snapshots;
  readonly egress: Egress;
  readonly lease: core.Lease;
  readonly scheduler: core.Scheduler;
  /** Built after the lanes, which it feeds. */
  readonly membership: () => Membership;
  readonly clock: core.Clock;
  readonly ids: core.Ids;
  readonly logger: core.Logger;
  readonly crashPoints: core.CrashPoints;
  readonly metrics: Metrics;
  readonly tracer: core.Tracer;
  readonly counts: WorkerMetrics;
}

/** The way of a lane through this worker: agents, turns, steps in batches, deliveries, and what drives them. */
export function buildLanes(parts: LaneParts) {
  const { bootId, clock, ids, logger: log, crashPoints, scheduler, locks, wakeUps, counts, membership } = parts;
  const stream = new core.TurnStream(parts.live, clock);
  parts.snapshots.onAsked((laneId) => stream.snapshot(laneId));
  const transcripts = new TranscriptCache({
    store: parts.transcripts,
    messagesMax: parts.config.historyMax,
    isRunning: (laneId) => scheduler.isRunning(laneId),
    clock,
    ids,
  });
  const traces = new TurnTraces(parts.tracer, clock);
  const deliverer = buildDeliverer(parts);
  const onAsked = ({ lane }: core.ClaimedTurn) => deliverer.due(lane);
  const earlierOf = earlierEvents({ store: parts.transcripts, clock, ids });
  const turns = buildTurns({ ...parts, earlierOf, traces, stream, transcripts, onAsked });
  const ownership: core.LaneOwnership = {
    partitionOf: (slot) => membership().partitionOf(slot),
    mayClaim: (partition) => membership().mayClaim(partition),
    goneBoots: () => membership().goneBoots(),
  };
  const words = new core.StoppedWords({ store: parts.transcripts, stream, log });
  const batches = new core.LaneBatches({
    ...{ bootId, store: traces.store(parts.lanes), locks, clock, ids, metrics: counts.batches },
    goneBoots: ownership.goneBoots,
    routeSession: (tenantId, facts) => core.routeSession(tenantId, facts, parts),
  });
  const runner = new core.LaneRunner({
    ...{ scheduler, batches, turns, stream, wakeUps, ownership, clock, ids, log, crashPoints, metrics: counts.lanes },
    words,
    replies: {
      owedFor: (turn) => deliverer.owedFor(turn),
      committed: (turn, request, result) => {
        transcripts.committed(turn, request, result);
        deliverer.committed(turn, request, result);
      },
    },
  });
  return { runner, turns, deliverer, transcripts, batches };
}

interface TurnParts extends Omit<LaneParts, 'transcripts'> {
  readonly earlierOf: core.RunAgentOptions['earlierOf'];
  readonly traces: TurnTraces;
  readonly stream: core.TurnStream;
  readonly transcripts: TranscriptCache;
  readonly onAsked: core.RunAgentOptions['onAsked'];
}

function buildTurns(parts: TurnParts): core.Turns {
  const { traces, stream, transcripts } = parts;
  const { clock, ids, logger: log, agents, attachments, egress, metrics, counts } = parts;
  const { historyMax, turnMsMax, inactiveMsMax } = parts.config;
  const runtimes = traces.runtimes(agentRuntimes({ egress, attachments, clock, metrics, historyMax, turnMsMax }));
  const options: core.RunAgentOptions = {
    ...{ agents, runtimes, earlierOf: parts.earlierOf, inputs: parts.inputs, stream, clock, ids, log },
    ...{ metrics: counts.agents, onAsked: parts.onAsked },
    transcriptBefore: (turn) => transcripts.before(turn),
    onFirstText: (ms) => counts.firstTextSeconds.observe(ms / 1000),
  };
  return new core.Turns({
    ...{ clock, ids, turnMsMax, inactiveMsMax },
    answer: (turn) => traces.answer(turn, () => core.runAgent(turn, options)),
  });
}

function buildDeliverer(parts: LaneParts): core.ReplyDeliverer {
  const { bootId, clock, ids, logger: log, crashPoints, lease, accounts, egress, counts, membership } = parts;
  const { sendsMax } = parts.config;
  return new core.ReplyDeliverer({
    ...{ bootId, store: parts.deliveries, live: parts.live, lease, clock, ids, log, crashPoints },
    metrics: counts.deliveries,
    channels: new AccountChannels({
      ...{ accounts, openAccounts: new OpenAccounts(), egress, clock, tracer: parts.tracer, sent: counts.webhooksOut },
    }),
    partitions: () => membership().owned,
    laneIsBusy: (laneId) => parts.scheduler.has(laneId),
    sendsMax,
    sendsPerAccountMax: Math.ceil(sendsMax / 4),
  });
}
