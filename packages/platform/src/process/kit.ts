import type { BootId, Clock, CrashPoints, Ids, Logger } from '@turnkeeper/core';
import manifest from '../../package.json' with { type: 'json' };
import {
  createLogger,
  createMetrics,
  createTracer,
  type LogLevel,
  type Metrics,
  type ProcessTracer,
} from '../telemetry/index.ts';
import { systemClock, systemIds } from './clock.ts';
import { createCrashPoints } from './crash-points.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import { Vitals } from './vitals.ts';

/** What every service gets besides its configuration. `compose` hands its parts on by name, never the whole. */
export interface Kit {
  /** `ingress`, `session-worker` or `coordinator`. */
  readonly service: string;
  /** For people (a pod's name, `ingress-1`); never an identity. */
  readonly nodeName: string;
  /** The identity of this incarnation. */
  readonly bootId: BootId;
  readonly version: string;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Closed by whoever made the kit. */
  readonly tracer: ProcessTracer;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly crashPoints: CrashPoints;
  readonly readiness: Readiness;
  /** What must go on in this process; watched once it is ready. */
  readonly vitals: Vitals;
  /** SIGTERM lets the turns in flight finish for this long. */
  readonly drainTimeoutMs: number;
  /**
   * Ends the process because it must not go on (own lease lost, schema out of range): no drain, parts are disposed,
   * exit code 1. Returns at once. The message of an AppError is printed, so it says what to do.
   */
  readonly fail: (error: unknown) => void;
}

export interface KitOptions {
  readonly service: string;
  readonly nodeName: string;
  readonly logLevel: LogLevel;
  readonly drainTimeoutMs: number;
  /** What makes no progress for this long ends the process; never when absent. */
  readonly stuckMs?: number;
  /** Where spans go; nowhere when absent. */
  readonly tracesUrl?: string | undefined;
  readonly crashPoints?: string | undefined;
  /** Also measure this Node.js process; off where several services share one. */
  readonly processMetrics: boolean;
  readonly fail: (error: unknown) => void;
}

/** @throws AppError `config_invalid` when the crash points are malformed */
export function createKit(options: KitOptions): Kit {
  const { service, nodeName, drainTimeoutMs, fail } = options;
  const version = manifest.version;
  const bootId = systemIds.next() as BootId;
  const readiness = createReadiness();
  const vitals = new Vitals(systemClock, options.stuckMs ?? 0);
  readiness.unless(() => (vitals.troubled === null ? null : 'stuck'));
  return {
    service,
    nodeName,
    bootId,
    version,
    logger: createLogger({ level: options.logLevel, fields: { service, version, bootId } }),
    metrics: createMetrics({ service, version, processMetrics: options.processMetrics }),
    tracer: createTracer({ service, version, bootId, exporter: options.tracesUrl ?? null }),
    clock: systemClock,
    ids: systemIds,
    crashPoints: createCrashPoints(options.crashPoints),
    readiness,
    vitals,
    drainTimeoutMs,
    fail,
  };
}
