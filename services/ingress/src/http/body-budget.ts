import { Transform } from 'node:stream';
import { AppError, NOBODY, Places } from '@turnkeeper/core';
import { BODY_BYTES_MAX } from '@turnkeeper/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Bodies up to this are not counted: as many connections as a node holds may send them at once. */
const SMALL_BYTES = 16 * 1024;
const HELD_BYTES_MAX = 256 * 1024 * 1024;
/** Of that for the senders of one tenant, and for all who have none. */
const SHARE = 0.5;

/**
 * Bounds what the bodies of requests in flight hold together: a door that nobody has to unlock (hooks) must not let slow
 * senders fill the memory. What counts is what has come, not what was announced, which costs a sender nothing; and one
 * tenant's senders, or those of none, hold half of it at most, so that others are heard.
 */
export class BodyBudget {
  readonly #held: Places;

  constructor(heldBytesMax = HELD_BYTES_MAX) {
    this.#held = new Places(heldBytesMax, SHARE);
  }

  /** The body, counted as it comes until the request is over; a small one as it is. It fails with AppError `overloaded`. */
  counted<Body extends NodeJS.ReadableStream>(
    request: FastifyRequest,
    reply: FastifyReply,
    body: Body,
  ): Body | Transform {
    if (announcedBytes(request) <= SMALL_BYTES) return body;
    const holder = holderOf(request);
    let heldBytes = 0;
    let isOver = reply.raw.closed;
    reply.raw.once('close', () => {
      isOver = true;
      this.#held.give(holder, heldBytes);
    });
    const counter = new Transform({
      transform: (piece: Buffer, _encoding, done) => {
        if (isOver) {
          done();
          return;
        }
        if (!this.#held.take(holder, piece.length)) {
          done(overloaded());
          return;
        }
        heldBytes += piece.length;
        done(null, piece);
      },
    });
    body.once('error', (error) => counter.destroy(error));
    // whoever reads it may have gone, with the answer
    counter.on('error', () => undefined);
    return body.pipe(counter);
  }
}

/** Whoever calls a hook has proved nothing yet, and must not use up what its tenant's own callers have. */
function holderOf({ caller, hook }: FastifyRequest): string {
  return caller?.tenant.tenantId ?? (hook === null ? NOBODY : `hook ${hook.tenant.tenantId}`);
}

/** What the sender announces; a body of unknown length may have all that any may have. */
function announcedBytes({ headers }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return BODY_BYTES_MAX;
  return Number(headers['content-length'] ?? 0);
}

function overloaded(): AppError {
  return new AppError({
    code: 'overloaded',
    retryable: true,
    retryAfterMs: 1000,
    message: 'too much is being sent to this node at once; nothing was accepted, try again later',
  });
}
