/** Names of keys. All keys of a partition carry its hash tag, so that scripts work on a cluster (one slot per script). */
import type { BootId, LaneRef, TenantId } from '@turnkeeper/core';

/** BullMQ's key prefix of a partition; the braces are Redis Cluster's hash tag. */
export function partitionTag(keyPrefix: string, partition: number): string {
  return `{${keyPrefix}:${partition}}`;
}

export function lockKey(tag: string, lane: LaneRef): string {
  return `${tag}:lock:${lane.tenantId}:${lane.laneId}`;
}

/** Turn slots are one small table for the whole cluster: one tag. */
export function slotKeys(keyPrefix: string, bootId: BootId) {
  const tag = `{${keyPrefix}:slots}`;
  return { total: `${tag}:total`, beats: `${tag}:beats`, used: `${tag}:used:${bootId}`, usedOf: `${tag}:used:` };
}

/** Rates are spread over 16 tags by the last digit of the tenant's id, which is random. */
export function rateTag(keyPrefix: string, tenantId: TenantId): string {
  return `{${keyPrefix}:rate-${tenantId.at(-1)}}`;
}

export function rateKey(keyPrefix: string, tenantId: TenantId): string {
  return `${rateTag(keyPrefix, tenantId)}:${tenantId}`;
}
