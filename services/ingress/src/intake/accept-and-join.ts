import {
  type Acceptance,
  type AcceptMessage,
  AppError,
  type Clock,
  type InboundMessage,
  type RunReads,
  type RunRecord,
  type Tracer,
  traced,
} from '@turnkeeper/core';
import type { JoinedRunLane, RunStreams } from '../runs/run-streams.ts';
import type { IntakeMetrics } from './intake-metrics.ts';

export interface AcceptParts {
  readonly acceptMessage: Pick<AcceptMessage, 'accept' | 'laneOf'>;
  readonly runs: Pick<RunReads, 'get'>;
  readonly streams: Pick<RunStreams, 'join'>;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly metrics: Pick<IntakeMetrics, 'answered'>;
}

/** Accepts a message that came over HTTP. @throws as `AcceptMessage.accept` */
export async function acceptOverHttp(message: InboundMessage, parts: AcceptParts): Promise<Acceptance> {
  const { acceptMessage, clock, metrics, tracer } = parts;
  const startedMs = clock.monotonicMs();
  const span = tracer.start('intake.accept', { parent: message.traceparent });
  const acceptance = await traced(span, () => acceptMessage.accept(message));
  const platform = 'source' in message.target ? message.target.source.platform : 'api';
  metrics.answered(acceptance, { door: 'http', kind: message.kind, platform, ms: clock.monotonicMs() - startedMs });
  return acceptance;
}

/** The run of a first acceptance. @throws AppError `gone`; StoreError */
export async function firstRun({ lane, eventId }: Acceptance, { runs }: Pick<AcceptParts, 'runs'>): Promise<RunRecord> {
  const run = await runs.get(lane.tenantId, eventId);
  if (run === null) {
    throw new AppError({ code: 'gone', message: 'this was accepted before and has been deleted since' });
  }
  return run;
}

export interface Joined {
  readonly acceptance: Acceptance;
  readonly run: RunRecord;
  readonly joined: JoinedRunLane;
}

/**
 * Listens before it accepts, so that no word of a fast turn is missed, and then calls `work`; what was joined is closed
 * when that fails.
 */
export async function acceptAndJoin<T>(
  message: InboundMessage,
  parts: AcceptParts,
  work: (joined: Joined) => Promise<T>,
): Promise<T> {
  const { streams } = parts;
  const lane = parts.acceptMessage.laneOf(message);
  let joined = await streams.join(lane);
  try {
    const acceptance = await acceptOverHttp(message, parts);
    if (acceptance.lane.laneId !== lane.laneId) {
      // a duplicate, and it was put elsewhere then
      joined.close();
      joined = await streams.join(acceptance.lane);
    }
    return await work({ acceptance, joined, run: await firstRun(acceptance, parts) });
  } catch (error) {
    joined.close();
    throw error;
  }
}
