import type { AnswerOf } from '../operations.ts';
import { type Call, type CallOptions, type FileBody, newKey, type Transport, type WriteOptions } from '../transport.ts';

export type Upload = AnswerOf<'createUpload'>;

export interface UploadOptions extends WriteOptions {
  /** As people call it; the one of a `File` when left out. */
  readonly name?: string | undefined;
  /** Its media type, which counts where its bytes say nothing; the one of a `Blob` when left out. */
  readonly mime?: string | undefined;
}

/** For a file with all tries, and for a try of it. */
const FILE_MS_MAX = 300_000;
const UNKNOWN = 'application/octet-stream';

/** `/v1/uploads` and `/v1/attachments`: files that messages bring. */
export class Files {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Stores a file. Messages name it as `attachments: [{ref: attachmentId}]`; one that none names is deleted after a day. */
  upload(
    file: FileBody,
    { name, mime, idempotencyKey = newKey(), timeoutMs = FILE_MS_MAX, signal }: UploadOptions = {},
  ): Promise<Upload> {
    const known = file instanceof Blob ? file : undefined;
    const call: Call = {
      ...{ path: '/v1/uploads', file, idempotencyKey, waitMs: FILE_MS_MAX },
      method: 'POST',
      query: { name: name ?? (known instanceof File ? known.name : undefined) },
      headers: { 'content-type': mime || known?.type || UNKNOWN },
    };
    return this.#transport.json(call, { signal, timeoutMs });
  }

  /** The bytes of a file, with its media type. It comes from anybody: show it as nothing but what you expect. */
  read(attachmentId: string, { timeoutMs = FILE_MS_MAX, signal }: CallOptions = {}): Promise<Blob> {
    const path = `/v1/attachments/${encodeURIComponent(attachmentId)}`;
    return this.#transport.blob({ method: 'GET', path, waitMs: FILE_MS_MAX }, { signal, timeoutMs });
  }
}
