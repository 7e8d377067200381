import { hash } from 'node:crypto';
import { type AcceptItem, AppError, digestId, type KeyRecord } from '@turnkeeper/core';
import { IdempotencyKeySchema } from '@turnkeeper/protocol';
import canonicalize from 'canonicalize';
import type { FastifyRequest } from 'fastify';

/** Idempotency keys of one route: scope tenant + route + principal (surface §3). */
export class IdempotencyKeys {
  readonly #route: string;
  /** The scope of a key is a hash; it is made once while the key's row is cached. */
  readonly #scopes = new WeakMap<KeyRecord, string>();

  constructor(route: string) {
    this.#route = route;
  }

  /**
   * The dedupe key of a request, from its header or its body; null when it has none. Bodies are the same when their
   * canonical form (RFC 8785, without the key) is.
   * @throws AppError `invalid_field` for a malformed key, or two different ones
   */
  of(
    request: FastifyRequest,
    body: Readonly<Record<string, unknown>> & { readonly idempotencyKey?: string | undefined },
    principal: KeyRecord,
  ): AcceptItem['dedupe'] | null {
    const { idempotencyKey: inBody, ...rest } = body;
    const inHeader = request.headers['idempotency-key'];
    if (inHeader === undefined && inBody === undefined) return null;
    const key = inHeader ?? inBody;
    const isOne = inHeader === undefined || inBody === undefined || inHeader === inBody;
    if (typeof key !== 'string' || !isOne || !IdempotencyKeySchema.safeParse(key).success) throw malformed();
    const bodyHash = hash('sha256', canonicalize(rest) ?? '', 'buffer');
    return { scope: this.#scopeOf(principal), key, bodyHash };
  }

  /** The dedupe key of a request without one: never used again but by a repetition of the very call. */
  once(id: string, principal: KeyRecord): AcceptItem['dedupe'] {
    return { scope: this.#scopeOf(principal), key: `id:${id}`, bodyHash: hash('sha256', id, 'buffer') };
  }

  #scopeOf(principal: KeyRecord): string {
    const known = this.#scopes.get(principal);
    if (known !== undefined) return known;
    const scope = digestId('route', this.#route, principal.id);
    this.#scopes.set(principal, scope);
    return scope;
  }
}

function malformed(): AppError {
  return new AppError({
    code: 'invalid_field',
    message: 'an idempotency key has 1 to 255 characters without control characters, the same in header and body',
    fields: [{ pointer: '/idempotencyKey', code: 'invalid_field' }],
  });
}
