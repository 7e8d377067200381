import type { LiveStream, Snapshots, StreamReads } from '@turnkeeper/core';
import type { Kit } from '@turnkeeper/platform/process';
import type { Access } from '../http/access.ts';
import { RunStreams } from '../runs/run-streams.ts';
import { OpenSockets } from '../sockets/open-sockets.ts';
import { LaneChanges } from './lane-changes.ts';
import { OpenStreams } from './open-streams.ts';
import { SessionStreams } from './session-streams.ts';
import { TenantChanges } from './tenant-changes.ts';
import { TenantStreams } from './tenant-streams.ts';

export interface StreamParts {
  readonly access: Access;
  readonly live: LiveStream;
  readonly snapshots: Snapshots;
  readonly streamReads: StreamReads;
  readonly streamsMax: number;
}

/** Streams of every kind: of runs, of conversations. */
export function buildStreams(kit: Kit, parts: StreamParts) {
  const { clock, ids, logger, metrics } = kit;
  const { access, live, snapshots, streamReads: reads, streamsMax } = parts;
  const opened = metrics.gauge('streams_open');
  const openStreams = new OpenStreams({ access, clock, ids, logger, streamsMax, opened });
  const laneChanges = new LaneChanges({ reads, clock, logger });
  const replays = metrics.counter('stream_replays_total');
  const deltasDropped = metrics.counter('stream_deltas_dropped_total');
  const sessionStreams = new SessionStreams({ reads, changes: laneChanges, live, snapshots, clock, logger, replays });
  const streams = new RunStreams({ sessionStreams, reads, clock, openStreams, deltasDropped });
  const tenantChanges = new TenantChanges({ reads, clock, logger });
  const tenantStreams = new TenantStreams({ reads, changes: laneChanges, tenantChanges, live, clock, logger, replays });
  const openSockets = new OpenSockets();
  return { openStreams, openSockets, laneChanges, streams, sessionStreams, tenantStreams, deltasDropped };
}
