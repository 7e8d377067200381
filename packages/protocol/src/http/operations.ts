/** What operators look at: processes, partitions, lanes, events. */
import { z } from 'zod';
import { CursorParam, InstantSchema, limitParam, listOf, ReferenceSchema } from './fields.ts';
import { RunStatusSchema } from './runs.ts';

export const WorkerSchema = z.strictObject({
  bootId: z.string(),
  kind: z.enum(['session-worker', 'coordinator', 'ingress']),
  state: z.enum(['live', 'leaving', 'gone', 'dead']),
  name: z.string(),
  pid: z.int().nullable(),
  version: z.string(),
  turnSlots: z.int(),
  partitions: z.array(z.int()),
  leader: z.boolean(),
  startedAt: InstantSchema,
  beatAt: InstantSchema,
  endedAt: InstantSchema.optional(),
});
export type Worker = z.infer<typeof WorkerSchema>;

export const PartitionSchema = z.strictObject({
  id: z.int(),
  owner: z.string().nullable(),
  ownerState: z.enum(['live', 'leaving', 'gone', 'dead']).nullable(),
  epoch: z.string(),
  changedAt: InstantSchema,
});
export type Partition = z.infer<typeof PartitionSchema>;

export const LaneSchema = z.strictObject({
  laneId: z.string(),
  tenantId: z.string(),
  tenant: z.string(),
  agentId: z.string(),
  agent: z.string(),
  sessionKey: z.string(),
  slot: z.int(),
  partition: z.int(),
  sessionId: z.string().nullable(),
  fence: z.string(),
  seq: z.string(),
  turnId: z.string().nullable(),
  bootId: z.string().nullable(),
  queued: z.int(),
  resumes: z.int(),
  suspended: z.boolean(),
  paused: z.boolean(),
  lastActivityAt: InstantSchema,
});
export type Lane = z.infer<typeof LaneSchema>;

export const EventSchema = z.strictObject({
  eventId: z.string(),
  runId: z.string(),
  tenantId: z.string(),
  tenant: z.string(),
  sessionKey: z.string(),
  kind: z.enum(['message', 'command', 'wake']),
  status: RunStatusSchema,
  attempts: z.int(),
  acceptedAt: InstantSchema,
  acceptedBy: z.string().nullable(),
  startedAt: InstantSchema.optional(),
  settledAt: InstantSchema.optional(),
});
export type OperatorEvent = z.infer<typeof EventSchema>;

const page = { limit: limitParam(), cursor: CursorParam };

/** `state`: open = live or leaving (the default is all, the newest first). */
export const WorkerListQuerySchema = z.strictObject({
  ...page,
  kind: z.enum(['session-worker', 'coordinator', 'ingress']).optional(),
  state: z.enum(['open', 'live', 'leaving', 'gone', 'dead']).optional(),
});
export const PartitionListQuerySchema = z.strictObject({ ...page, owner: z.uuid().optional() });
/** `state`: running = a turn runs; queued = work and no turn; resuming = owed its resume; else the flag of that name. */
export const LaneListQuerySchema = z.strictObject({
  ...page,
  tenant: ReferenceSchema.optional(),
  state: z.enum(['running', 'queued', 'resuming', 'suspended', 'paused']).optional(),
});
export const EventListQuerySchema = z.strictObject({
  ...page,
  tenant: ReferenceSchema.optional(),
  status: RunStatusSchema.optional(),
});

export const WorkerListSchema = listOf(WorkerSchema);
export const PartitionListSchema = listOf(PartitionSchema);
export const LaneListSchema = listOf(LaneSchema);
export const EventListSchema = listOf(EventSchema);
