/** Conversations and their history. */
import { z } from 'zod';
import { AttachmentsSchema } from './attachments.ts';
import { CursorParam, InstantSchema, idText, limitParam, listOf, nameText, ReferenceSchema } from './fields.ts';
import { IdempotencyKeySchema, MessageTextSchema } from './messages.ts';

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
  /** What a turn had said when somebody stopped it: no reply, and not the whole. */
  cut: z.boolean().optional(),
  /** It is a person's answer to this question. */
  inputId: z.string().optional(),
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
  /** A person has taken over: messages are stored, no turns run. Absent when not so. */
  paused: z.literal(true).optional(),
  /** The next message begins a fresh session. Absent when not so. */
  suspended: z.literal(true).optional(),
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

/** Body of `POST /v1/sessions/{session}/reset`; the other commands have none. */
export const SessionResetSchema = z.strictObject({ idempotencyKey: IdempotencyKeySchema.optional() });

/** What a command left: the session as it is now, and what it ended. */
export const SessionControlSchema = SessionSchema.extend({
  /** The turn that was running, and the runs that were discarded. */
  stopped: z.strictObject({ turnId: z.string().optional(), runIds: z.array(z.string()) }).optional(),
});
export type SessionControl = z.infer<typeof SessionControlSchema>;

const LABEL_LENGTH_MAX = 64;

/** `PATCH /v1/sessions/{session}`. A label is trimmed, unique among the conversations of its agent; null clears it. */
export const SessionPatchSchema = z.strictObject({
  label: idText(LABEL_LENGTH_MAX).trim().min(1).nullable(),
});

/** `POST /v1/sessions/{session}/outbound`: a message without a turn. */
export const OutboundRequestSchema = z
  .strictObject({
    text: MessageTextSchema,
    attachments: AttachmentsSchema.optional(),
    author: z.enum(['agent', 'human', 'system']).default('agent'),
    /** Sent through it; without one through the account that the conversation last came by, if there is one. */
    accountId: ReferenceSchema.optional(),
    idempotencyKey: IdempotencyKeySchema.optional(),
  })
  .refine(({ text, attachments }) => text !== '' || (attachments ?? []).length > 0, { path: ['text'] });

/** 202. `delivered`: nothing was to be sent, the message is stored. */
export const OutboundAnswerSchema = z.strictObject({
  messageId: z.string(),
  deliveryId: z.string(),
  sessionKey: z.string(),
  sessionId: z.string(),
  seq: z.int(),
  status: z.enum(['accepted', 'duplicate']),
  deliveryStatus: z.enum(['pending', 'delivered']),
});
export type OutboundAnswer = z.infer<typeof OutboundAnswerSchema>;
