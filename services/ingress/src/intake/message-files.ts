import {
  type AttachmentRecord,
  type AttachmentRecords,
  type LaneRef,
  laneIdOf,
  type NamedAttachments,
  namedAttachments,
} from '@turnkeeper/core';
import type { Principal } from '../http/access.ts';
import { roomsOf, type Visitor } from '../visitors/visitor.ts';

/** As the row of an upload names who sent it: keys by their row, visitors by their name within their agent. */
export function ownerOf(principal: Principal): string {
  if (principal.kind === 'key') return `key:${principal.key.id}`;
  return `visitor:${principal.agent.agentId}:${principal.sub}`;
}

/**
 * The files that a message of this sender names. Keys may name every file of their tenant; a visitor those it has uploaded.
 * @throws AppError `upload_incomplete`, `file_count_exceeded`, `total_bytes_exceeded`; StoreError
 */
export function filesOf(
  principal: Principal,
  refs: readonly string[],
  parts: { readonly attachments: Pick<AttachmentRecords, 'find'>; readonly pointerOf?: (index: number) => string },
): Promise<NamedAttachments> {
  const { attachments, pointerOf = (index) => `/attachments/${index}/ref` } = parts;
  const { tenantId } = principal.tenant;
  const owner = ownerOf(principal);
  const isMine = ({ owner: of }: AttachmentRecord) => principal.kind === 'key' || of === owner;
  return namedAttachments(attachments, { tenantId, refs, mayName: isMine, pointerOf });
}

/** True for files of one's own, and for those of the rooms that one is in. @throws StoreError */
export async function maySeeFile(
  principal: Principal,
  record: AttachmentRecord,
  attachments: Pick<AttachmentRecords, 'lanesOf'>,
): Promise<boolean> {
  if (principal.kind === 'key' || record.owner === ownerOf(principal)) return true;
  const lanes = await attachments.lanesOf(principal.tenant.tenantId, record.attachmentId);
  const own = lanesOf(principal);
  return lanes.some(({ laneId }) => own.has(laneId));
}

function lanesOf(visitor: Visitor): ReadonlySet<LaneRef['laneId']> {
  const { tenant, agent } = visitor;
  return new Set(roomsOf(visitor).map(({ sessionKey }) => laneIdOf(tenant.tenantId, agent.agentId, sessionKey)));
}
