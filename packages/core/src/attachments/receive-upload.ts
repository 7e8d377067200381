import type { Ids } from '../clock.ts';
import { AppError } from '../errors.ts';
import { type AttachmentId, formatId, type TenantId } from '../ids.ts';
import { Places } from '../places.ts';
import {
  ATTACHMENT_CHUNK_BYTES,
  type Attachment,
  type AttachmentBytes,
  type AttachmentRecord,
  type AttachmentRecords,
  type FinishUpload,
} from '../ports/attachments.ts';
import type { Logger } from '../ports/runtime.ts';
import { cleanFileName } from './file-name.ts';
import { mediaTypeOf } from './media-type.ts';

export interface Upload {
  readonly tenantId: TenantId;
  /** Who sends it. */
  readonly owner: string;
  /** As the sender calls it. */
  readonly name: string;
  /** As the sender declares it; null: not at all. */
  readonly mime: string | null;
  /** The length that the sender announced; null: none. */
  readonly announcedBytes: number | null;
  /** Ends early, by throwing, when the sender goes away. */
  readonly body: AsyncIterable<Uint8Array>;
  readonly idempotency: FinishUpload['idempotency'];
}

export interface ReceivedUpload {
  readonly attachment: AttachmentRecord;
  readonly isDuplicate: boolean;
}

export interface Digest {
  update(bytes: Uint8Array): void;
  end(): Uint8Array;
}

export interface ReceiveUploadOptions {
  readonly records: AttachmentRecords;
  readonly bytes: AttachmentBytes;
  readonly ids: Ids;
  readonly logger: Pick<Logger, 'failed'>;
  readonly sha256: () => Digest;
  /** What the first bytes of a file say it is; null: nothing known. */
  readonly sniff: (head: Uint8Array) => Promise<string | null>;
  readonly fileBytesMax: number;
  /** What the files of one tenant may hold together. */
  readonly tenantBytesMax: number;
  /** Uploads at once: each holds one piece in memory. One tenant gets three quarters of them at most. */
  readonly uploadsMax: number;
}

interface Pieces {
  readonly first: Uint8Array;
  readonly rest: AsyncGenerator<Uint8Array>;
}

interface Received {
  readonly size: number;
  readonly sha256: Uint8Array;
  readonly head: Uint8Array;
}

/**
 * The use case behind every door for files: bytes come in, a file that messages may name comes out.
 *
 *   room in the quota set aside → pieces stored as they come, one in memory at a time → whole: its type, size and hash
 *
 * Nobody sees a file that is not whole. What is refused or breaks off is dropped at once; where not even that works, the
 * leader's sweep does it an hour later.
 */
export class ReceiveUpload {
  readonly #options: ReceiveUploadOptions;
  readonly #open: Places;

  constructor(options: ReceiveUploadOptions) {
    this.#options = options;
    this.#open = new Places(options.uploadsMax);
  }

  /**
   * @throws AppError `attachment_too_large`, `quota_exceeded`, `upload_incomplete` (no bytes), `idempotency_mismatch`,
   *   `overloaded`; StoreError; what the body throws. Nothing is kept then.
   */
  async receive(upload: Upload): Promise<ReceivedUpload> {
    if ((upload.announcedBytes ?? 0) > this.#options.fileBytesMax) throw this.#tooLarge();
    if (!this.#open.take(upload.tenantId)) throw overloaded();
    try {
      return await this.#receive(upload);
    } finally {
      this.#open.give(upload.tenantId);
    }
  }

  async #receive(upload: Upload): Promise<ReceivedUpload> {
    const { records, ids, fileBytesMax, tenantBytesMax, logger } = this.#options;
    const { tenantId, owner, announcedBytes, body } = upload;
    const pieces = piecesOf(body);
    // a sender that sends nothing, or not yet, has nothing set aside for it
    const first = await pieces.next();
    if (first.done === true) {
      throw new AppError({ code: 'upload_incomplete', message: 'send the bytes of the file as the body' });
    }
    const attachmentId = ids.next() as AttachmentId;
    const begun = await records.begin({
      ...{ tenantId, attachmentId, owner, name: cleanFileName(upload.name) },
      reserveBytes: announcedBytes ?? fileBytesMax,
      quotaBytes: tenantBytesMax,
    });
    if (!begun) throw quotaExceeded();
    try {
      const received = await this.#store(attachmentId, tenantId, { first: first.value, rest: pieces });
      return await this.#finish(attachmentId, upload, received);
    } catch (error) {
      await records.drop(tenantId, attachmentId).catch((cause) => {
        logger.failed(cause, { tenantId }, 'an upload that broke off was left to the sweep');
      });
      throw error;
    }
  }

  async #store(attachmentId: AttachmentId, tenantId: TenantId, { first, rest }: Pieces): Promise<Received> {
    const { bytes, fileBytesMax, sha256 } = this.#options;
    const digest = sha256();
    let size = 0;
    let index = 0;
    const head = first.slice(0, HEAD_BYTES);
    for await (const piece of inOrder(first, rest)) {
      size += piece.length;
      if (size > fileBytesMax) throw this.#tooLarge();
      digest.update(piece);
      if (!(await bytes.append(tenantId, attachmentId, { index, bytes: piece }))) throw gone();
      index++;
    }
    return { size, sha256: digest.end(), head };
  }

  async #finish(attachmentId: AttachmentId, upload: Upload, received: Received): Promise<ReceivedUpload> {
    const { records, sniff } = this.#options;
    const { tenantId, idempotency } = upload;
    const { size, sha256, head } = received;
    const media = mediaTypeOf({ sniffed: await sniff(head), declared: upload.mime, head });
    const finished = await records.finish({ tenantId, attachmentId, ...media, size, sha256, idempotency });
    if (finished.result === 'mismatch') {
      const message = 'the idempotency key was used before with another file; use a new key for a new file';
      throw new AppError({ code: 'idempotency_mismatch', message });
    }
    if (finished.result === 'gone') throw gone();
    const isDuplicate = finished.result === 'duplicate';
    const [attachment] = await records.find(tenantId, [isDuplicate ? finished.attachmentId : attachmentId]);
    if (attachment === undefined) throw gone();
    return { attachment, isDuplicate };
  }

  #tooLarge(): AppError {
    const message = `a file has at most ${this.#options.fileBytesMax} bytes here`;
    return new AppError({ code: 'attachment_too_large', message });
  }
}

/** What events and messages say of a file. */
export function attachmentOf({ attachmentId, kind, name, mime, size }: AttachmentRecord): Attachment {
  return { kind, ref: formatId('att', attachmentId), name, mime, size };
}

/** Enough to know any format by. */
const HEAD_BYTES = 4100;

/** The body in pieces of `ATTACHMENT_CHUNK_BYTES`, the last one shorter. A piece is a buffer of its own. */
async function* piecesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let piece = new Uint8Array(ATTACHMENT_CHUNK_BYTES);
  let filled = 0;
  for await (const part of body) {
    for (let from = 0; from < part.length; ) {
      const taken = part.subarray(from, from + ATTACHMENT_CHUNK_BYTES - filled);
      piece.set(taken, filled);
      filled += taken.length;
      from += taken.length;
      if (filled < ATTACHMENT_CHUNK_BYTES) continue;
      yield piece;
      piece = new Uint8Array(ATTACHMENT_CHUNK_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield piece.subarray(0, filled);
}

async function* inOrder(first: Uint8Array, rest: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}

function gone(): AppError {
  return new AppError({
    code: 'upload_incomplete',
    message: 'the upload took too long and was dropped; send it again',
  });
}

function quotaExceeded(): AppError {
  return new AppError({
    code: 'quota_exceeded',
    retryable: true,
    retryAfterMs: 60_000,
    message: 'the files of this tenant hold all they may; they go with the messages that name them',
  });
}

function overloaded(): AppError {
  return new AppError({
    code: 'overloaded',
    retryable: true,
    retryAfterMs: 1000,
    message: 'too many files are being sent to this node at once; nothing was kept, try again later',
  });
}
