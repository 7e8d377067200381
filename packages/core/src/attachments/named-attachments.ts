import { AppError, type HttpErrorCode } from '../errors.ts';
import { type AttachmentId, parseId, type TenantId } from '../ids.ts';
import type { Attachment, AttachmentRecord, AttachmentRecords } from '../ports/attachments.ts';
import { attachmentOf } from './receive-upload.ts';

/** Files that one message may carry. */
export const ATTACHMENTS_MAX = 20;
const MESSAGE_BYTES_MAX = 100 * 1024 * 1024;

export interface NamedAttachments {
  /** What the message stores of them, in the order in which it names them. */
  readonly attachments: readonly Attachment[];
  /** Each once: what the store must keep as long as the message. */
  readonly uses: readonly AttachmentId[];
}

export interface NamingMessage {
  readonly tenantId: TenantId;
  /** `att_…`, as the sender writes them. */
  readonly refs: readonly string[];
  /** Files that this sender may not name are missing to it. */
  readonly mayName?: (attachment: AttachmentRecord) => boolean;
  /** Where each stands in the request, for the error. */
  readonly pointerOf: (index: number) => string;
}

/**
 * The files that a message names, with what is known of them: a sender's own words about a file count for nothing.
 * @throws AppError `upload_incomplete` for one that is unknown, another tenant's, not whole or expired, alike;
 *   `file_count_exceeded`, `total_bytes_exceeded`; StoreError
 */
export async function namedAttachments(
  records: Pick<AttachmentRecords, 'find'>,
  { tenantId, refs, mayName = () => true, pointerOf }: NamingMessage,
): Promise<NamedAttachments> {
  if (refs.length === 0) return { attachments: [], uses: [] };
  if (refs.length > ATTACHMENTS_MAX) {
    throw refusal('file_count_exceeded', pointerOf(ATTACHMENTS_MAX), `at most ${ATTACHMENTS_MAX} files`);
  }
  const ids = refs.map((ref) => parseId<AttachmentId>(ref, 'att'));
  const uses = [...new Set(ids.filter((id) => id !== null))];
  const found = uses.length === 0 ? [] : await records.find(tenantId, uses);
  const known = new Map(found.filter(mayName).map((record) => [record.attachmentId, record]));
  const named = ids.map((id, index) => {
    const record = id === null ? undefined : known.get(id);
    if (record !== undefined) return record;
    const message = 'no such upload, or it is not whole, or it has expired: upload the file first';
    throw refusal('upload_incomplete', pointerOf(index), message);
  });
  if (named.reduce((sum, { size }) => sum + size, 0) > MESSAGE_BYTES_MAX) {
    throw refusal('total_bytes_exceeded', pointerOf(0), `at most ${MESSAGE_BYTES_MAX} bytes in one message`);
  }
  return { attachments: named.map(attachmentOf), uses };
}

function refusal(code: HttpErrorCode, pointer: string, message: string): AppError {
  return new AppError({ code, message: `${pointer}: ${message}`, fields: [{ pointer, code }] });
}
