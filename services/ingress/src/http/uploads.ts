import type { Readable } from 'node:stream';
import { AppError, type AttachmentRecord, digestId, formatId, type ReceiveUpload, type Upload } from '@turnkeeper/core';
import { IdempotencyKeySchema, type UploadAnswer, UploadQuerySchema } from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ownerOf } from '../intake/message-files.ts';
import type { Access } from './access.ts';
import type { RateGate } from './rate-gate.ts';
import { parseQuery } from './requests.ts';

export interface UploadParts {
  readonly access: Access;
  readonly rates: RateGate;
  readonly receiveUpload: Pick<ReceiveUpload, 'receive'>;
}

const PATH = '/v1/uploads';

/**
 * `POST /v1/uploads`: the body is the file, of whatever type, and is stored piece by piece as it comes. Its own context,
 * because no other route takes a body that is not JSON.
 */
export function registerUploads(app: FastifyInstance, parts: UploadParts): void {
  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, parsed) => parsed(null, payload));
    // a type that is none is no reason to refuse a file: the framework never sees what the sender wrote
    scope.addHook('onRequest', (request, _reply, next) => {
      request.headers = { 'content-type': 'application/octet-stream' };
      next();
    });
    scope.post(
      PATH,
      { config: { takesFile: true }, onRequest: parts.access.admits('messages:write') },
      (request, reply) => receive(request, reply, parts),
    );
    done();
  });
}

async function receive(request: FastifyRequest, reply: FastifyReply, parts: UploadParts): Promise<UploadAnswer> {
  const caller = parts.access.principalOf(request);
  await parts.rates.take(caller.tenant, reply);
  const { name = '' } = parseQuery(UploadQuerySchema, request.query);
  const declared = request.raw.headers['content-type'] ?? null;
  // what programs send for bytes of which they know nothing
  const type = declared?.trim().toLowerCase() === 'application/x-www-form-urlencoded' ? null : declared;
  if (type?.trimStart().toLowerCase().startsWith('multipart/')) {
    throw new AppError({ code: 'invalid_field', message: 'send the bytes of the file as the body, not a form' });
  }
  reply.isTimed = false;
  const owner = ownerOf(caller);
  const { attachment, isDuplicate } = await parts.receiveUpload.receive({
    ...{ tenantId: caller.tenant.tenantId, owner, name, mime: type },
    announcedBytes: announcedBytes(request),
    body: bodyOf(request),
    idempotency: idempotencyOf(request, owner),
  });
  if (isDuplicate) reply.header('idempotent-replayed', 'true');
  reply.code(201);
  return answerOf(attachment);
}

/** No body at all comes without a stream, and is a file of no bytes. */
function bodyOf({ body }: FastifyRequest): Upload['body'] {
  // what is refused half-way must stay open for the answer: whoever sends that reads the rest away
  return isReadable(body) ? body.iterator({ destroyOnReturn: false }) : NO_BYTES;
}

const NO_BYTES: Upload['body'] = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

function isReadable(body: unknown): body is Readable {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

function announcedBytes({ headers }: FastifyRequest): number | null {
  const length = headers['content-length'];
  return length === undefined ? null : Number(length);
}

function idempotencyOf({ headers }: FastifyRequest, owner: string): Upload['idempotency'] {
  const key = headers['idempotency-key'];
  if (key === undefined) return null;
  const parsed = IdempotencyKeySchema.safeParse(key);
  if (!parsed.success) {
    const message = 'an idempotency key has 1 to 255 characters without control characters';
    throw new AppError({ code: 'invalid_field', message });
  }
  return { scope: digestId('route', PATH, owner), key: parsed.data };
}

function answerOf(record: AttachmentRecord): UploadAnswer {
  const { attachmentId, kind, name, mime, size, sha256, createdAt, expiresAt } = record;
  return {
    attachmentId: formatId('att', attachmentId),
    ...{ kind, name, mime, size },
    sha256: Buffer.from(sha256).toString('hex'),
    createdAt: createdAt.toISOString(),
    ...(expiresAt === null ? {} : { expiresAt: expiresAt.toISOString() }),
  };
}
