/** What NATS messages carry. A reader drops what it cannot read: every signal also has a row that a poll finds. */
import type { BootId, LaneId, LiveEvent, TenantId, TurnId, WakeUp } from '@turnkeeper/core';
import { z } from 'zod';
import { readActivation, writeActivation } from './jobs.ts';
import { uuidSchema } from './uuid-schema.ts';

/** Stops one turn, wherever it runs. Names the turn, never the lane. Version 1. */
export const StopTurnSchema = z.object({ v: z.literal(1), turnId: uuidSchema<TurnId>() });

/** A worker is gone: its partitions are free to take. Version 1. */
export const GoodbyeSchema = z.object({ v: z.literal(1), bootId: uuidSchema<BootId>() });

/** A live event of a lane, on its way to sockets. Version 1. */
export const LiveEventSchema = z.object({
  v: z.literal(1),
  type: z.string(),
  at: z.string(),
  seq: z.string().exactOptional(),
  sessionKey: z.string(),
  sessionId: z.string().exactOptional(),
  turnId: z.string().exactOptional(),
  attempt: z.int().exactOptional(),
  runIds: z.array(z.string()).exactOptional(),
  data: z.record(z.string(), z.unknown()),
});

/** Lanes per message that tells of readers. */
export const WATCH_LANES_MAX = 500;

/** Somebody listens to the live events of these lanes, and of all lanes of these tenants. Version 1. */
export const WatchSchema = z.object({
  v: z.literal(1),
  lanes: z.array(uuidSchema<LaneId>()).max(WATCH_LANES_MAX),
  tenants: z.array(uuidSchema<TenantId>()).max(WATCH_LANES_MAX).exactOptional(),
});

export interface Watch {
  readonly lanes: readonly LaneId[];
  readonly tenants: readonly TenantId[];
}

/** A hint is an activation on its fast way; the text of a NATS message. */
export function writeHint(wakeUps: readonly WakeUp[] | 'scan'): string {
  return JSON.stringify(writeActivation(wakeUps));
}

/** Null when it is no hint of a known version. Never throws. */
export function readHint(text: string): WakeUp[] | 'scan' | null {
  return readActivation(parseJson(text));
}

export function writeStopTurn(turnId: TurnId): string {
  return JSON.stringify({ v: 1, turnId });
}

/** Null when it is no such message of a known version. Never throws. */
export function readStopTurn(text: string): TurnId | null {
  return StopTurnSchema.safeParse(parseJson(text)).data?.turnId ?? null;
}

export function writeGoodbye(bootId: BootId): string {
  return JSON.stringify({ v: 1, bootId });
}

/** Null when it is no such message of a known version. Never throws. */
export function readGoodbye(text: string): BootId | null {
  return GoodbyeSchema.safeParse(parseJson(text)).data?.bootId ?? null;
}

export function writeWatch({ lanes, tenants }: Watch): string {
  return JSON.stringify({ v: 1, lanes, ...(tenants.length === 0 ? {} : { tenants }) });
}

/** Null when it is no such message of a known version. Never throws. */
export function readWatch(text: string): Watch | null {
  const watch = WatchSchema.safeParse(parseJson(text)).data;
  return watch === undefined ? null : { lanes: watch.lanes, tenants: watch.tenants ?? [] };
}

export function writeLiveEvent(event: LiveEvent): string {
  return JSON.stringify({ v: 1, ...event });
}

/** Null when it is no such message of a known version. Never throws. */
export function readLiveEvent(text: string): LiveEvent | null {
  const parsed = LiveEventSchema.safeParse(parseJson(text));
  if (!parsed.success) return null;
  const { v: _version, ...event } = parsed.data;
  return event;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // not JSON: the schema refuses it like any other foreign text
    return undefined;
  }
}
