/** What BullMQ jobs carry: activations. A reader drops what it cannot read; the partition owner's scan covers. */
import { type LaneId, SLOT_COUNT, type TenantId, type WakeUp } from '@turnkeeper/core';
import { z } from 'zod';
import { uuidSchema } from './uuid-schema.ts';

/** Lanes in one activation or hint; above it the sender says `scan` instead. */
export const WAKE_UP_LANES_MAX = 1000;

const ORD_PATTERN = /^\d{1,19}$/;

/** A lane with work: slot, tenant, lane, and the highest event that the sender knows (`events.ord`) or null = look anyway. */
const LaneEntrySchema = z.tuple([
  z
    .int()
    .min(0)
    .max(SLOT_COUNT - 1),
  uuidSchema<TenantId>(),
  uuidSchema<LaneId>(),
  z.string().regex(ORD_PATTERN).nullable(),
]);

/** Version 1. Fields may be added; a reader ignores those that it does not know. */
export const ActivationSchema = z.object({
  v: z.literal(1),
  /** Lanes of one partition that have work. */
  lanes: z.array(LaneEntrySchema).max(WAKE_UP_LANES_MAX).optional(),
  /** The sender knew of too many lanes to name them: look in Postgres. */
  scan: z.literal(true).optional(),
  /** W3C trace context of the sending. */
  traceparent: z.string().max(64).optional(),
});
export type Activation = z.input<typeof ActivationSchema>;

/** `scan` when there are too many to name. */
export function writeActivation(wakeUps: readonly WakeUp[] | 'scan', traceparent: string | null = null): Activation {
  const traced = traceparent === null ? {} : { traceparent };
  if (wakeUps === 'scan' || wakeUps.length > WAKE_UP_LANES_MAX) return { v: 1, scan: true, ...traced };
  return { v: 1, ...traced, lanes: wakeUps.map(({ lane, ord }) => [lane.slot, lane.tenantId, lane.laneId, ord]) };
}

/** Null when it is no activation of a known version. Never throws. */
export function readActivation(data: unknown): WakeUp[] | 'scan' | null {
  const parsed = ActivationSchema.safeParse(data);
  if (!parsed.success) return null;
  const { lanes, scan } = parsed.data;
  if (scan === true) return 'scan';
  return lanes?.map(([slot, tenantId, laneId, ord]) => ({ lane: { slot, tenantId, laneId }, ord })) ?? null;
}

/** Under which span the activation was sent; null when under none, or when it cannot be read. */
export function traceparentOfActivation(data: unknown): string | null {
  return ActivationSchema.safeParse(data).data?.traceparent ?? null;
}
