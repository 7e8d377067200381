/** What operators look at: processes, partitions, lanes, events. */
import { z } from 'zod';
import { InstantSchema, listOf } from './fields.ts';
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
  agentId: z.string(),
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

export const WorkerListSchema = listOf(WorkerSchema);
export const PartitionListSchema = listOf(PartitionSchema);
export const LaneListSchema = listOf(LaneSchema);
export const EventListSchema = listOf(EventSchema);
