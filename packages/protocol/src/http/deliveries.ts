/** Deliveries: what became of each message on its way out. */
import { DELIVERY_STATE, type DeliveryStatus } from '@turnkeeper/core';
import { z } from 'zod';
import { CursorParam, InstantSchema, limitParam, listOf, ReferenceSchema, SessionKeySchema } from './fields.ts';

export const DELIVERY_STATUSES = Object.keys(DELIVERY_STATE) as [DeliveryStatus, ...DeliveryStatus[]];

const DeliveryStatusSchema = z.enum(DELIVERY_STATUSES);

export const DeliverySchema = z.strictObject({
  deliveryId: z.string(),
  messageId: z.string(),
  sessionKey: z.string(),
  sessionId: z.string(),
  agentId: z.string(),
  /** Absent: nothing was to be sent, the commit of its turn proves it. */
  accountId: z.string().optional(),
  runId: z.string().optional(),
  turnId: z.string().optional(),
  status: DeliveryStatusSchema,
  /** Sends that were started. */
  attempts: z.int(),
  /** It may have arrived more than once; its last or next send says so. Absent when not so. */
  recovered: z.literal(true).optional(),
  /** Its outcome is unknown and its account holds such ones: it waits for a person, and is given up then. */
  heldUntil: InstantSchema.optional(),
  /** Pending, and not sent before then. */
  nextAttemptAt: InstantSchema.optional(),
  error: z.strictObject({ code: z.string() }).optional(),
  platformMessageIds: z.array(z.string()),
  /** Of the message; only where one delivery is read. */
  text: z.string().optional(),
  createdAt: InstantSchema,
  updatedAt: InstantSchema,
});
export type Delivery = z.infer<typeof DeliverySchema>;

export const DeliveryListSchema = listOf(DeliverySchema);

/** `session`: as in paths. A page may hold fewer than `limit`, and lead on, when a filter lets little through. */
export const DeliveryListQuerySchema = z.strictObject({
  limit: limitParam(),
  cursor: CursorParam,
  status: DeliveryStatusSchema.optional(),
  session: z.string().min(1).max(1024).optional(),
  sessionKey: SessionKeySchema.optional(),
  agentId: ReferenceSchema.optional(),
  accountId: ReferenceSchema.optional(),
  runId: z.string().min(1).max(64).optional(),
});

/** `POST /v1/deliveries/{id}/resolve` */
export const DeliveryResolveSchema = z.strictObject({
  /** It arrived, or nobody tries any more. */
  outcome: z.enum(['delivered', 'abandoned']),
});
