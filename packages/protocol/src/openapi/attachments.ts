import { UploadAnswerSchema, UploadQuerySchema } from '../http/attachments.ts';
import { NoQuerySchema } from '../http/fields.ts';
import type { Operation } from './operation.ts';

/** Files: in by one call, out by the other. */
export const ATTACHMENTS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/uploads',
    id: 'createUpload',
    summary: 'Upload a file; the body is its bytes',
    door: 'messages:write',
    visitors: true,
    query: UploadQuerySchema,
    body: 'bytes',
    answers: { 201: UploadAnswerSchema },
    idempotent: true,
    errors: ['invalid_field', 'attachment_too_large', 'upload_incomplete', 'quota_exceeded', 'idempotency_mismatch'],
  },
  {
    method: 'get',
    path: '/v1/attachments/{id}',
    id: 'getAttachment',
    summary: 'Download a file',
    door: 'runs:read',
    visitors: true,
    query: NoQuerySchema,
    answers: { 200: 'bytes' },
    errors: ['not_found'],
  },
];
