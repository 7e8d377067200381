import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type Clock, type Ids, type LaneId, type LaneRef, type TenantId, uuidV7 } from '@turnkeeper/core';
import { silentLogger } from '@turnkeeper/core/testing';
import { onTestFinished } from 'vitest';
import { type BusLink, connectBus } from './bus-link.ts';

/** The machine's clock and randomness: these tests talk to a real NATS. */
export const clock: Clock = {
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
  const link = await connectBus({ url, prefix, name: 'test', clock, ids, logger: silentLogger });
  onTestFinished(() => link[Symbol.asyncDispose]());
  return link;
}
