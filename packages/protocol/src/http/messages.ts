/** `POST /v1/messages`. */
import { z } from 'zod';
import { StreamFilterSchema } from '../stream.ts';
import { AttachmentsSchema } from './attachments.ts';
import { idText, nameText, ReferenceSchema, SessionKeySchema, utf8Fits } from './fields.ts';
import { RunStatusSchema } from './runs.ts';

export const BODY_BYTES_MAX = 1024 * 1024;
const TEXT_BYTES_MAX = 256 * 1024;
const IDEMPOTENCY_KEY_LENGTH_MAX = 255;

const sourceId = idText(256).nullable().exactOptional();
const sourceName = nameText(256).nullable().exactOptional();

/** Where a message came from. Components are raw; escaping belongs to the key policy. */
export const SourceSchema = z.strictObject({
  platform: idText(64).min(1),
  chatType: z.enum(['dm', 'group', 'channel', 'thread', 'forum', 'inbox']),
  chatId: sourceId,
  threadId: sourceId,
  userId: sourceId,
  userIdAlt: sourceId,
  userName: sourceName,
  chatName: sourceName,
  prospectiveThreadId: sourceId,
  scopeId: sourceId,
  /** Another bot wrote the message, or something else that is no person: its loops have a budget. */
  isBot: z.boolean().exactOptional(),
});

export const IdempotencyKeySchema = idText(IDEMPOTENCY_KEY_LENGTH_MAX).min(1);

/** At most 256 KiB. */
export const MessageTextSchema = z.string().check((context) => {
  if (utf8Fits(context.value, TEXT_BYTES_MAX)) return;
  const message = 'a text has at most 256 KiB';
  context.issues.push({ code: 'custom', input: context.value, params: { code: 'body_too_large' }, message });
});

/** Exactly one of `source` and `sessionKey`; a message says something or carries something. */
export const MessageRequestSchema = z
  .strictObject({
    agentId: ReferenceSchema.optional(),
    accountId: ReferenceSchema.optional(),
    source: SourceSchema.optional(),
    sessionKey: SessionKeySchema.optional(),
    text: MessageTextSchema,
    attachments: AttachmentsSchema.optional(),
    kind: z.enum(['message', 'wake']).optional(),
    busyMode: z.enum(['queue']).optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
    idempotencyKey: IdempotencyKeySchema.optional(),
  })
  .check((context) => {
    const { source, sessionKey, text, attachments, kind } = context.value;
    const selectors = Number(source !== undefined) + Number(sessionKey !== undefined);
    const refuse = (code: string, path: string[], message: string) =>
      context.issues.push({ code: 'custom', input: undefined, path, params: { code }, message });
    if (selectors === 0) refuse('no_selector', [], 'give source or sessionKey');
    if (selectors === 2) refuse('multiple_selectors', ['sessionKey'], 'give either source or sessionKey, not both');
    if (text === '' && kind !== 'wake' && (attachments ?? []).length === 0)
      refuse('invalid_field', ['text'], 'must not be empty when nothing is attached');
  });
export type MessageRequest = z.infer<typeof MessageRequestSchema>;

/** The filters are those of the stream that answers. */
export const MessageQuerySchema = z.strictObject({
  stream: z.enum(['true', 'false']).optional(),
  ...StreamFilterSchema.shape,
});

/** 202. `position`: accepted, unfinished events of the lane before this one. */
export const MessageAnswerSchema = z.strictObject({
  runId: z.string(),
  eventId: z.string(),
  sessionKey: z.string(),
  slot: z.int(),
  partition: z.int(),
  status: z.enum(['accepted', 'duplicate']),
  runStatus: RunStatusSchema,
  position: z.int(),
});
export type MessageAnswer = z.infer<typeof MessageAnswerSchema>;
