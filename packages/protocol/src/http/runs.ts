/** Runs: the fate of one accepted event. */
import { z } from 'zod';
import { ShownAttachmentSchema } from './attachments.ts';
import { CursorParam, InstantSchema, limitParam, listOf, ReferenceSchema, SessionKeySchema } from './fields.ts';

export const RUN_STATUSES = [
  'queued',
  'running',
  'waiting',
  'ok',
  'no_reply',
  'error',
  'timeout',
  'cancelled',
  'superseded',
  'merged',
  'steered',
  'discarded',
  'refused',
  'parked',
] as const;

export const RunStatusSchema = z.enum(RUN_STATUSES);

/** Longest `wait` of `GET /v1/runs/{id}`, seconds. */
const RUN_WAIT_SECONDS_MAX = 55;
const WAIT_RULE = `must be whole seconds, 0–${RUN_WAIT_SECONDS_MAX}`;

export const RunSchema = z.strictObject({
  runId: z.string(),
  eventId: z.string(),
  sessionKey: z.string(),
  sessionId: z.string().optional(),
  turnId: z.string().optional(),
  status: RunStatusSchema,
  /** Of the question that a `waiting` run waits for: `POST /v1/inputs/{id}/answer`. */
  inputId: z.string().optional(),
  /** That question, as `input.required` tells it. */
  input: z
    .strictObject({
      kind: z.string(),
      prompt: z.string(),
      options: z.array(z.string()).optional(),
      expiresAt: InstantSchema,
    })
    .optional(),
  attempts: z.int(),
  reply: z.strictObject({ text: z.string(), attachments: z.array(ShownAttachmentSchema).optional() }).optional(),
  error: z.strictObject({ code: z.string() }).optional(),
  createdAt: InstantSchema,
  startedAt: InstantSchema.optional(),
  finishedAt: InstantSchema.optional(),
});
export type Run = z.infer<typeof RunSchema>;

export const RunListSchema = listOf(RunSchema);
export type RunList = z.infer<typeof RunListSchema>;

export const RunListQuerySchema = z.strictObject({
  limit: limitParam(),
  cursor: CursorParam,
  status: RunStatusSchema.optional(),
  sessionKey: SessionKeySchema.optional(),
  agentId: ReferenceSchema.optional(),
});

export const RunQuerySchema = z.strictObject({
  wait: z
    .string()
    .regex(/^[0-9]{1,2}$/, { error: WAIT_RULE })
    .transform(Number)
    .refine((seconds) => seconds <= RUN_WAIT_SECONDS_MAX, { error: WAIT_RULE })
    .optional(),
});

/** What happened to an event, oldest first. `node` is the boot id of the process that did it, `nodeName` its name for people. */
const TimelineEntrySchema = z.strictObject({
  at: InstantSchema,
  step: z.string(),
  node: z.string().optional(),
  nodeName: z.string().optional(),
  turnId: z.string().optional(),
  attempt: z.int().optional(),
  status: z.string().optional(),
  reason: z.string().optional(),
  deliveryId: z.string().optional(),
  code: z.string().optional(),
  /** Of the question that a turn asked a person, and its text. */
  inputId: z.string().optional(),
  question: z.string().optional(),
});
export const TimelineSchema = z.strictObject({
  eventId: z.string(),
  runId: z.string(),
  sessionKey: z.string(),
  status: RunStatusSchema,
  data: z.array(TimelineEntrySchema),
});
export type Timeline = z.infer<typeof TimelineSchema>;
