import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import {
  type Clock,
  type Counter,
  type Ids,
  type LaneId,
  type LaneRef,
  type Logger,
  type TenantId,
  uuidV7,
} from '@turnkeeper/core';
import { onTestFinished } from 'vitest';
import { type BusLink, connectBus } from './bus-link.ts';

/** The machine's clock and randomness: these tests talk to a real NATS. */
const clock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => wait(ms, undefined, signal ? { signal } : {}).catch(() => undefined),
};

export const ids: Ids = { next: () => uuidV7(Date.now(), randomBytes(10)), random: () => Math.random() };

export function newLane(): LaneRef {
  return { slot: 7, tenantId: ids.next() as TenantId, laneId: ids.next() as LaneId };
}

/** A link under the prefix; closed when the test is. */
export async function openTestLink(url: string, prefix: string): Promise<BusLink> {
  const link = await connectBus({ url, prefix, name: 'test', clock, ids, logger: silent });
  onTestFinished(() => link[Symbol.asyncDispose]());
  return link;
}

/** Counts by the value of the label `outcome`. */
export function countOutcomes(): Counter & { readonly seen: Record<string, number> } {
  const seen: Record<string, number> = {};
  return {
    seen,
    inc: (labels, by = 1) => {
      const outcome = labels?.['outcome'] ?? 'all';
      seen[outcome] = (seen[outcome] ?? 0) + by;
    },
  };
}

const silent: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  failed: () => undefined,
  child: () => silent,
};
