import type { AttachmentId, LaneRef, TenantId } from '../ids.ts';

export const ATTACHMENT_KINDS = ['image', 'audio', 'video', 'file'] as const;
export type AttachmentKind = (typeof ATTACHMENT_KINDS)[number];

/** An attachment as events and messages hold it, and as history, streams and replies show it. */
export interface Attachment {
  readonly kind: AttachmentKind;
  /** `att_…` */
  readonly ref: string;
  readonly name: string;
  readonly mime: string;
  /** Bytes. */
  readonly size: number;
}

/** A file that is whole. */
export interface AttachmentRecord {
  readonly attachmentId: AttachmentId;
  /** Who uploaded it, as the door that let it in writes it. */
  readonly owner: string;
  readonly name: string;
  readonly mime: string;
  readonly kind: AttachmentKind;
  readonly size: number;
  readonly sha256: Uint8Array;
  readonly createdAt: Date;
  /** Until then a message may name it; null: one has, and it lives as long as its messages. */
  readonly expiresAt: Date | null;
}

export interface BeginUpload {
  readonly tenantId: TenantId;
  readonly attachmentId: AttachmentId;
  readonly owner: string;
  readonly name: string;
  /** Set aside for it: its size, or the most it may have. */
  readonly reserveBytes: number;
  /** What the tenant's files may hold together. */
  readonly quotaBytes: number;
}

export interface FinishUpload {
  readonly tenantId: TenantId;
  readonly attachmentId: AttachmentId;
  readonly mime: string;
  readonly kind: AttachmentKind;
  readonly size: number;
  readonly sha256: Uint8Array;
  readonly idempotency: { readonly scope: string; readonly key: string } | null;
}

export type FinishResult =
  | { readonly result: 'stored' }
  /** The key came before with the same file: this upload is gone, that one stands. */
  | { readonly result: 'duplicate'; readonly attachmentId: AttachmentId }
  /** The key came before with another file; this upload is gone. */
  | { readonly result: 'mismatch' }
  /** It took longer than an hour. */
  | { readonly result: 'gone' };

/**
 * What is known of files: a row each, in the store of the truth. A tenant sees its own and no others. An upload that is not
 * finished after an hour is deleted, a file that no message names after a day.
 */
export interface AttachmentRecords {
  /** False: the tenant's quota does not allow it, nothing was begun. @throws StoreError */
  begin(upload: BeginUpload): Promise<boolean>;
  /** The file is whole from now on. Safe when repeated. @throws StoreError */
  finish(upload: FinishUpload): Promise<FinishResult>;
  /** Forgets an upload that is not finished. Safe when repeated. @throws StoreError */
  drop(tenantId: TenantId, attachmentId: AttachmentId): Promise<void>;
  /** Those of these that are whole, in no order. @throws StoreError */
  find(tenantId: TenantId, attachmentIds: readonly AttachmentId[]): Promise<AttachmentRecord[]>;
  /** The conversations whose messages name it. @throws StoreError */
  lanesOf(tenantId: TenantId, attachmentId: AttachmentId): Promise<LaneRef[]>;
}

/** The bytes of files, in pieces of at most `ATTACHMENT_CHUNK_BYTES`: here an object store can take Postgres's place. */
export interface AttachmentBytes {
  /** Pieces come in order, from 0. Safe when repeated. False: there is no such upload. @throws StoreError */
  append(tenantId: TenantId, attachmentId: AttachmentId, piece: AttachmentPiece): Promise<boolean>;
  /** Null behind the last piece, and when the file was deleted meanwhile. @throws StoreError */
  read(tenantId: TenantId, attachmentId: AttachmentId, index: number): Promise<Uint8Array | null>;
}

export interface AttachmentPiece {
  readonly index: number;
  readonly bytes: Uint8Array;
}

export const ATTACHMENT_CHUNK_BYTES = 256 * 1024;
