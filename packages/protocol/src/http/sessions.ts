/** Conversations and their history. */
import { z } from 'zod';
import { CursorParam, InstantSchema, limitParam, listOf, nameText, ReferenceSchema } from './fields.ts';

export const HISTORY_LIMIT_DEFAULT = 100;
const HISTORY_LIMIT_MAX = 500;

export const HistoryMessageSchema = z.strictObject({
  messageId: z.string(),
  seq: z.int(),
  role: z.string(),
  author: z.string(),
  text: z.string(),
  parts: z.array(z.unknown()),
  turnId: z.string().optional(),
  createdAt: InstantSchema,
});
export type HistoryMessage = z.infer<typeof HistoryMessageSchema>;
export const HistorySchema = listOf(HistoryMessageSchema);

export const SessionSchema = z.strictObject({
  sessionKey: z.string(),
  sessionId: z.string().nullable(),
  agentId: z.string(),
  kind: z.string(),
  channel: z.string(),
  chatType: z.string(),
  status: z.enum(['active', 'expired', 'archived']),
  label: z.string().optional(),
  displayName: z.string(),
  createdAt: InstantSchema,
  updatedAt: InstantSchema,
  messages: z.array(HistoryMessageSchema).optional(),
});
export type Session = z.infer<typeof SessionSchema>;
export const SessionListSchema = listOf(SessionSchema);

const wholeNumber = (max: number) =>
  z
    .string()
    .regex(/^[0-9]{1,6}$/)
    .transform(Number)
    .refine((value) => value <= max)
    .optional();

const SESSION_KINDS = ['main', 'group', 'cron', 'hook', 'node', 'other'] as const;

/** A list with commas; kinds that do not exist are refused. */
const KindsParam = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.array(z.enum(SESSION_KINDS)))
  .optional();

export const SessionListQuerySchema = z.strictObject({
  limit: limitParam(),
  cursor: CursorParam,
  kinds: KindsParam,
  activeMinutes: wholeNumber(525_600),
  messageLimit: wholeNumber(20),
  agentId: ReferenceSchema.optional(),
  channel: nameText(64).optional(),
  user: nameText(256).optional(),
  status: z.enum(['active', 'expired', 'archived']).optional(),
  q: nameText(256).optional(),
});

export const SessionQuerySchema = z.strictObject({ agentId: ReferenceSchema.optional() });

export const HistoryQuerySchema = z.strictObject({
  limit: limitParam(HISTORY_LIMIT_MAX),
  cursor: CursorParam,
  before: z
    .string()
    .regex(/^[0-9]{1,15}$/)
    .transform(Number)
    .optional(),
  includeTools: z.enum(['true', 'false']).optional(),
  agentId: ReferenceSchema.optional(),
});
