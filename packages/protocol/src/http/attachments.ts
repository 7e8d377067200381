/** `POST /v1/uploads`, `GET /v1/attachments/{id}`, and how messages name files. */
import { ATTACHMENT_KINDS, ATTACHMENTS_MAX } from '@turnkeeper/core';
import { z } from 'zod';
import { InstantSchema, nameText } from './fields.ts';

/** `ref` is what decides; what else a sender says of a file it has uploaded counts for nothing. */
const NamedAttachmentSchema = z.strictObject({
  kind: z.enum(ATTACHMENT_KINDS).optional(),
  ref: z.string().min(1).max(2048),
  name: nameText(255).optional(),
  mime: nameText(127).optional(),
  size: z.int().nonnegative().optional(),
});

/** Uploads that a message names: `[{ref: "att_…"}]`. */
export const AttachmentsSchema = z.array(NamedAttachmentSchema).refine((list) => list.length <= ATTACHMENTS_MAX, {
  params: { code: 'file_count_exceeded' },
  error: `at most ${ATTACHMENTS_MAX} files in one message`,
});

/** `name`: as the sender calls the file; it is cleaned. */
export const UploadQuerySchema = z.strictObject({ name: nameText(1024).optional() });

/** 201. Until `expiresAt` a message may name it; then it lives as long as that message. */
export const UploadAnswerSchema = z.strictObject({
  attachmentId: z.string(),
  kind: z.enum(ATTACHMENT_KINDS),
  name: z.string(),
  mime: z.string(),
  size: z.int(),
  /** Hexadecimal. */
  sha256: z.string(),
  createdAt: InstantSchema,
  expiresAt: InstantSchema.optional(),
});
export type UploadAnswer = z.infer<typeof UploadAnswerSchema>;

/** A file as answers show it. Rows of other times and other doors may know less of it, or more. */
export const ShownAttachmentSchema = z.looseObject({
  kind: z.string().optional(),
  ref: z.string().optional(),
  name: z.string().optional(),
  mime: z.string().optional(),
  size: z.number().optional(),
});
export type ShownAttachment = z.infer<typeof ShownAttachmentSchema>;
