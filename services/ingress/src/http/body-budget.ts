import { AppError } from '@turnkeeper/core';
import { BODY_BYTES_MAX } from '@turnkeeper/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Bodies up to this are not counted: as many connections as a node holds may send them at once. */
const SMALL_BYTES = 16 * 1024;
const HELD_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Bounds what the bodies of requests in flight may hold together, before the first byte of them is read: a door that
 * nobody has to unlock (hooks) must not let slow senders fill the memory.
 */
export class BodyBudget {
  #heldBytes = 0;

  /** @throws AppError `overloaded` */
  admit(request: FastifyRequest, reply: FastifyReply): void {
    const bytes = announcedBytes(request);
    if (bytes <= SMALL_BYTES) return;
    if (this.#heldBytes + bytes > HELD_BYTES_MAX) throw overloaded();
    this.#heldBytes += bytes;
    reply.raw.once('close', () => {
      this.#heldBytes -= bytes;
    });
  }
}

/** What the sender announces; a body of unknown length may have all that any may have. One above that is refused anyway. */
function announcedBytes({ headers }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return BODY_BYTES_MAX;
  return Math.min(Number(headers['content-length'] ?? 0), BODY_BYTES_MAX);
}

function overloaded(): AppError {
  return new AppError({
    code: 'overloaded',
    retryable: true,
    retryAfterMs: 1000,
    message: 'too much is being sent to this node at once; nothing was accepted, try again later',
  });
}
