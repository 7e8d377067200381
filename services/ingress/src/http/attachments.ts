import { Readable } from 'node:stream';
import {
  AppError,
  type AttachmentBytes,
  type AttachmentId,
  type AttachmentRecord,
  type AttachmentRecords,
  parseId,
  type TenantId,
} from '@turnkeeper/core';
import { NoQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { maySeeFile } from '../intake/message-files.ts';
import type { Access, Principal } from './access.ts';
import { parseQuery } from './requests.ts';

export interface AttachmentParts {
  readonly access: Access;
  readonly attachments: AttachmentRecords & AttachmentBytes;
}

/**
 * `GET /v1/attachments/{id}`: a file as it was uploaded. It comes from anybody, so no browser may run it, guess at its
 * type, or show it in place of a page.
 */
export function registerAttachments(app: FastifyInstance, parts: AttachmentParts): void {
  const guard = { onRequest: parts.access.admits('runs:read') };
  app.get<{ Params: { id: string } }>('/v1/attachments/:id', guard, async (request, reply) => {
    parseQuery(NoQuerySchema, request.query);
    const principal = parts.access.principalOf(request);
    const { tenantId } = principal.tenant;
    const record = await find(request.params.id, principal, parts);
    const etag = `"${Buffer.from(record.sha256).toString('hex')}"`;
    describe(reply, record, etag);
    if (request.headers['if-none-match'] === etag) return reply.code(304).send();
    reply.isTimed = false;
    reply.header('content-length', record.size);
    if (request.method === 'HEAD') return reply.send();
    return reply.send(Readable.from(piecesOf(record, tenantId, parts.attachments)));
  });
}

async function find(id: string, principal: Principal, { attachments }: AttachmentParts): Promise<AttachmentRecord> {
  const attachmentId = parseId<AttachmentId>(id, 'att');
  const [record] = attachmentId === null ? [] : await attachments.find(principal.tenant.tenantId, [attachmentId]);
  if (record !== undefined && (await maySeeFile(principal, record, attachments))) return record;
  throw new AppError({ code: 'not_found', message: 'no such attachment' });
}

function describe(reply: FastifyReply, { name, mime }: AttachmentRecord, etag: string): void {
  reply
    .header('content-type', mime)
    .header('content-disposition', dispositionOf(name))
    .header('x-content-type-options', 'nosniff')
    .header('content-security-policy', "default-src 'none'; sandbox")
    .header('cache-control', 'private, no-cache')
    .header('etag', etag);
}

/** RFC 6266: a name for those who read ASCII alone, and the name. */
function dispositionOf(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** One piece in memory at a time. A file that is deleted meanwhile breaks the answer off: it must not look whole. */
async function* piecesOf({ attachmentId, size }: AttachmentRecord, tenantId: TenantId, bytes: AttachmentBytes) {
  let sent = 0;
  for (let index = 0; sent < size; index++) {
    const piece = await bytes.read(tenantId, attachmentId, index);
    if (piece === null) throw new AppError({ code: 'gone', message: 'the file was deleted while it was read' });
    sent += piece.length;
    yield piece;
  }
}
