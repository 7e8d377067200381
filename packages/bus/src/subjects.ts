/** NATS subjects. A tenant's are under its id, so that permissions can be given by tenant. */
import type { LaneId, LaneRef, TenantId } from '@turnkeeper/core';

export function hintSubject(prefix: string, partition: number): string {
  return `${prefix}.p.${partition}.hint`;
}

export function laneSubject(prefix: string, lane: LaneRef): string {
  return `${prefix}.${lane.tenantId}.lane.${lane.slot}.${lane.laneId}`;
}

/** Every lane of a tenant. */
export function tenantLanesSubject(prefix: string, tenantId: TenantId): string {
  return `${prefix}.${tenantId}.lane.*.*`;
}

/** Which lane of the tenant a subject names. */
export function laneOfSubject(tenantId: TenantId, subject: string): LaneRef {
  const [slot, laneId = ''] = subject.split('.').slice(-2);
  return { tenantId, slot: Number(slot), laneId: laneId as LaneId };
}

/** Readers of live events tell who publishes which lanes and tenants they listen to. */
export function watchSubject(prefix: string): string {
  return `${prefix}.lane.watch`;
}

/** `*` = of every tenant. */
export function stopTurnSubject(prefix: string, tenantId: TenantId | '*'): string {
  return `${prefix}.${tenantId}.turn.stop`;
}

export function goodbyeSubject(prefix: string): string {
  return `${prefix}.worker.goodbye`;
}

/** Readers that join in mid-turn ask for the text so far. */
export function snapshotSubject(prefix: string): string {
  return `${prefix}.lane.snapshot`;
}
