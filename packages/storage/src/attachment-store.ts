import {
  AppError,
  type AttachmentBytes,
  type AttachmentId,
  type AttachmentKind,
  type AttachmentPiece,
  type AttachmentRecord,
  type AttachmentRecords,
  type BeginUpload,
  type FinishResult,
  type FinishUpload,
  type LaneId,
  type LaneRef,
  type TenantId,
} from '@turnkeeper/core';
import { call } from './columns.ts';
import type { Database } from './database.ts';

const BEGIN = call('begin_upload', 6);
const APPEND = call('append_chunk', 4);
const DROP = call('drop_upload', 2);
const FINISH = call('finish_upload', 8);
const FIND = call('attachments_of', 2);
const LANES = call('attachment_lanes', 2);
const CHUNK = call('attachment_chunk', 3);

interface AttachmentRow {
  readonly id: AttachmentId;
  readonly owner: string;
  readonly name: string;
  readonly mime: string;
  readonly kind: AttachmentKind;
  readonly bytes: number;
  readonly sha256: Buffer;
  readonly created_at: Date;
  readonly expires_at: Date | null;
}

/**
 * Files in Postgres, as tk_engine: rows, and their bytes in chunks. One statement per chunk, in a transaction of its own:
 * no connection is held while a sender or a reader is slow.
 */
export class PostgresAttachmentStore implements AttachmentRecords, AttachmentBytes {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async begin({ tenantId, attachmentId, owner, name, reserveBytes, quotaBytes }: BeginUpload): Promise<boolean> {
    const values = [tenantId, attachmentId, owner, name, reserveBytes, quotaBytes];
    const [row] = await this.#database.query<{ begun: boolean }>(BEGIN, values);
    return row?.begun === true;
  }

  async append(tenantId: TenantId, attachmentId: AttachmentId, { index, bytes }: AttachmentPiece): Promise<boolean> {
    const values = [tenantId, attachmentId, index, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)];
    const [row] = await this.#database.query<{ appended: boolean }>(APPEND, values);
    return row?.appended === true;
  }

  async drop(tenantId: TenantId, attachmentId: AttachmentId): Promise<void> {
    await this.#database.query(DROP, [tenantId, attachmentId]);
  }

  async finish(upload: FinishUpload): Promise<FinishResult> {
    const { tenantId, attachmentId, mime, kind, size, sha256, idempotency } = upload;
    const [row] = await this.#database.query<{ result: FinishResult['result']; id: AttachmentId | null }>(FINISH, [
      ...[tenantId, attachmentId, mime, kind, size, Buffer.from(sha256)],
      ...[idempotency?.scope ?? null, idempotency?.key ?? null],
    ]);
    if (row?.result === 'duplicate' && row.id !== null) return { result: 'duplicate', attachmentId: row.id };
    if (row === undefined || row.result === 'duplicate') {
      throw new AppError({ code: 'internal', message: 'finish_upload has no answer' });
    }
    return { result: row.result };
  }

  async find(tenantId: TenantId, attachmentIds: readonly AttachmentId[]): Promise<AttachmentRecord[]> {
    const rows = await this.#database.query<AttachmentRow>(FIND, [tenantId, attachmentIds]);
    return rows.map(({ id, bytes, created_at, expires_at, ...row }) => ({
      ...row,
      attachmentId: id,
      size: bytes,
      createdAt: created_at,
      expiresAt: expires_at,
    }));
  }

  async lanesOf(tenantId: TenantId, attachmentId: AttachmentId): Promise<LaneRef[]> {
    const rows = await this.#database.query<{ slot: number; lane_id: LaneId }>(LANES, [tenantId, attachmentId]);
    return rows.map(({ slot, lane_id: laneId }) => ({ slot, tenantId, laneId }));
  }

  async read(tenantId: TenantId, attachmentId: AttachmentId, index: number): Promise<Uint8Array | null> {
    const [row] = await this.#database.query<{ bytes: Buffer }>(CHUNK, [tenantId, attachmentId, index]);
    return row?.bytes ?? null;
  }
}
