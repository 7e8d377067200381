import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { type BootId, type Clock, type Ids, type LaneId, type LaneRef, type TenantId, uuidV7 } from '@turnkeeper/core';
import { silentLogger } from '@turnkeeper/core/testing';
import { onTestFinished } from 'vitest';
import { openRedis, type RedisLink } from './redis-link.ts';

/** The machine's clock and randomness: these tests talk to a real Redis. */
export const clock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) => wait(ms, undefined, signal ? { signal } : {}).catch(() => undefined),
};

export const ids: Ids = { next: () => uuidV7(Date.now(), randomBytes(10)), random: () => Math.random() };

export function newBootId(): BootId {
  return ids.next() as BootId;
}

export function newTenantId(): TenantId {
  return ids.next() as TenantId;
}

export function newLane(slot: number): LaneRef {
  return { slot, tenantId: newTenantId(), laneId: ids.next() as LaneId };
}

/** A link under a prefix that no other test has; closed when the test is. */
export async function openTestLink(url: string): Promise<RedisLink> {
  const link = await openRedis({ url, keyPrefix: `t-${ids.next()}`, clock, ids, logger: silentLogger });
  onTestFinished(() => link[Symbol.asyncDispose]());
  return link;
}
