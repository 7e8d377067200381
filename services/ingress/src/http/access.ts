import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import {
  type ApiToken,
  AppError,
  type Clock,
  digestId,
  type HttpErrorCode,
  type KeyLookup,
  type KeyRecord,
  type KeyRowId,
  parseApiToken,
  type Scope,
  type TenantConfigs,
} from '@turnkeeper/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ClientTokens } from '../visitors/client-tokens.ts';
import { checkOrigin } from '../visitors/origins.ts';
import type { Caller, Principal } from '../visitors/principal.ts';
import type { StreamTickets } from '../visitors/stream-tickets.ts';
import type { Visitor } from '../visitors/visitor.ts';
import { shareWith } from './cross-origin.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who passed `Access.requires`; the server begins each request with null. */
    caller: Principal | null;
  }
}

export type { Caller, Principal };

export interface AccessParts {
  readonly keys: KeyLookup;
  readonly tenants: Pick<TenantConfigs, 'get'>;
  readonly clientTokens: Pick<ClientTokens, 'read' | 'faultOf'>;
  readonly tickets: Pick<StreamTickets, 'redeem'>;
  /** The server's pepper: what is stored of a token is its HMAC. */
  readonly pepper: string;
  readonly clock: Clock;
  /** An operator key that works besides the stored ones; null for none. */
  readonly operatorToken: string | null;
  /** Counts requests refused for their credentials. */
  readonly countFailure: () => void;
}

/** The scheme's name has no case (RFC 9110). */
const BEARER = /^Bearer +/i;

/** Tokens whose HMAC is remembered. */
const PROOFS_MAX = 10_000;

/** A token whose HMAC was compared: while its row is cached, requests with it cost one plain hash. */
interface Proof {
  readonly tokenDigest: Buffer;
  readonly storedHash: Uint8Array;
}

/** Who may call what. Tenant keys open `/v1`, operator keys open `/admin`; neither works on the other side. */
export class Access {
  readonly #parts: AccessParts;
  readonly #configured: KeyRecord | null;
  #proofs = new Map<string, Proof>();

  constructor(parts: AccessParts) {
    this.#parts = parts;
    const operator = parts.operatorToken === null ? null : parseApiToken(parts.operatorToken);
    this.#configured = operator === null ? null : configuredKey(operator, this.#hmac(operator.token));
  }

  /**
   * The tenant key behind a request, when it has the scope.
   * @throws AppError `unauthenticated`, `key_expired`, `key_revoked`, `tenant_suspended`, `scope_missing`; StoreError
   */
  async caller(request: Pick<FastifyRequest, 'headers'>, scope: Scope): Promise<Caller> {
    return this.#callerWith(await this.#keyOf(request, 'tenant'), scope);
  }

  /** The visitor whose client token this is. @throws AppError `unauthenticated`, `token_expired`, `tenant_suspended`; StoreError */
  async visitor(token: string): Promise<Visitor> {
    const visitor = ClientTokens.isOne(token) ? await this.#parts.clientTokens.read(token) : null;
    if (visitor === null) throw this.#refused('unauthenticated');
    return this.#active(visitor);
  }

  /**
   * A key with the scope, or a visitor; what a visitor may see is for the route to say. `ticket`: stands for a token where
   * no header can be sent.
   * @throws as `caller` and `visitor`
   */
  async principal(request: Pick<FastifyRequest, 'headers'>, scope: Scope, ticket?: unknown): Promise<Principal> {
    const token = bearerOf(request);
    if (token === '' && typeof ticket === 'string') return this.#ticketHolder(ticket, scope);
    return ClientTokens.isOne(token) ? this.visitor(token) : this.caller(request, scope);
  }

  /**
   * As `requires`, and visitors pass, too, from the pages of their account; `principalOf` then says who it is. `tickets`:
   * a `?ticket=` opens the route.
   */
  admits(scope: Scope, { tickets = false } = {}): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
    return async (request, reply) => {
      const principal = await this.principal(request, scope, tickets ? ticketIn(request.query) : undefined);
      if (principal.kind === 'visitor') {
        checkOrigin(request, principal.account);
        shareWith(request, reply);
      }
      request.caller = principal;
    };
  }

  /** Who passed `admits` on this request. */
  principalOf(request: FastifyRequest): Principal {
    const { caller } = request;
    if (caller === null) throw new AppError({ code: 'internal', message: 'the route asks for nobody' });
    return caller;
  }

  /** A hook that lets only callers with the scope pass, before the body is read; `callerOf` then says who it is. */
  requires(scope: Scope): (request: FastifyRequest) => Promise<void> {
    return async (request) => {
      request.caller = await this.caller(request, scope);
    };
  }

  /** Who passed `requires` on this request. */
  callerOf(request: FastifyRequest): Caller {
    const caller = this.principalOf(request);
    if (caller.kind === 'key') return caller;
    throw new AppError({ code: 'internal', message: 'the route asks for no key' });
  }

  /** The operator key behind a request. @throws AppError `unauthenticated`, `key_expired`, `key_revoked`; StoreError */
  operator(request: FastifyRequest): Promise<KeyRecord> {
    return this.#keyOf(request, 'operator');
  }

  /** Why a caller's key, token or tenant no longer works: open streams end then. Null while it does. @throws StoreError */
  async faultOf(principal: Principal): Promise<HttpErrorCode | null> {
    if (principal.kind === 'visitor') return this.#parts.clientTokens.faultOf(principal);
    const [known, now] = await Promise.all([
      this.#parts.keys.find('tenant', principal.key.keyId),
      this.#parts.tenants.get(principal.tenant.tenantId),
    ]);
    if (now?.status === 'suspended') return 'tenant_suspended';
    return known === null || now?.status !== 'active' ? 'key_revoked' : this.#lifeFault(known);
  }

  async #keyOf(request: Pick<FastifyRequest, 'headers'>, kind: 'tenant' | 'operator'): Promise<KeyRecord> {
    const text = bearerOf(request);
    // who is known but may only do what visitors do is told so
    if (ClientTokens.isOne(text) && kind === 'tenant' && (await this.visitor(text)))
      throw this.#refused('scope_missing', 'a client token of a visitor does not open this call');
    const token = parseApiToken(text);
    if (token === null) throw this.#refused('unauthenticated');
    if (token.kind !== kind) throw this.#refused('unauthenticated', OTHER_DOOR[token.kind]);
    const key = this.#configuredKey(token) ?? (await this.#parts.keys.find(kind, token.keyId));
    if (key === null || !this.#proves(token.token, key)) throw this.#refused('unauthenticated');
    const fault = this.#lifeFault(key);
    if (fault !== null) throw this.#refused(fault);
    return key;
  }

  async #callerWith(key: KeyRecord, scope: Scope): Promise<Caller> {
    const tenant = key.tenantId === null ? null : await this.#parts.tenants.get(key.tenantId);
    if (tenant === null) throw this.#refused('unauthenticated');
    if (tenant.status !== 'active') throw this.#refused('tenant_suspended');
    if (!key.scopes.includes(scope)) throw this.#refused('scope_missing', `the key lacks the scope ${scope}`);
    return { kind: 'key', key, tenant };
  }

  async #ticketHolder(ticket: string, scope: Scope): Promise<Principal> {
    const holder = await this.#parts.tickets.redeem(ticket);
    if (holder?.kind === 'visitor') return this.#active(holder);
    const key = holder === null ? null : await this.#parts.keys.find('tenant', holder.keyId);
    if (key === null || key.tenantId !== holder?.tenantId) throw this.#refused('unauthenticated');
    const fault = this.#lifeFault(key);
    if (fault !== null) throw this.#refused(fault);
    return this.#callerWith(key, scope);
  }

  #active(visitor: Visitor): Visitor {
    if (visitor.tenant.status !== 'active') throw this.#refused('tenant_suspended');
    return visitor;
  }

  /** The configured operator key as a row: its HMAC is compared like any other's. */
  #configuredKey({ kind, keyId }: ApiToken): KeyRecord | null {
    if (kind !== 'operator' || keyId !== this.#configured?.keyId) return null;
    return this.#configured;
  }

  #lifeFault(key: KeyRecord): HttpErrorCode | null {
    if (key.revokedAt !== null) return 'key_revoked';
    const isOver = key.expiresAt !== null && key.expiresAt.getTime() <= this.#parts.clock.nowMs();
    return isOver ? 'key_expired' : null;
  }

  #proves(token: string, key: KeyRecord): boolean {
    const tokenDigest = hash('sha256', token, 'buffer');
    const proof = this.#proofs.get(key.keyId);
    if (proof?.storedHash === key.hash && timingSafeEqual(proof.tokenDigest, tokenDigest)) return true;
    const hmac = this.#hmac(token);
    if (hmac.length !== key.hash.length || !timingSafeEqual(hmac, key.hash)) return false;
    if (this.#proofs.size >= PROOFS_MAX) this.#proofs = new Map();
    this.#proofs.set(key.keyId, { tokenDigest, storedHash: key.hash });
    this.#parts.keys.noteUse(key);
    return true;
  }

  #hmac(token: string): Buffer {
    return createHmac('sha256', this.#parts.pepper).update(token).digest();
  }

  #refused(code: HttpErrorCode, message = REASONS[code] ?? 'not allowed'): AppError {
    this.#parts.countFailure();
    return new AppError({ code, message });
  }
}

/** What follows `Bearer`; empty when there is none. */
function bearerOf({ headers: { authorization = '' } }: Pick<FastifyRequest, 'headers'>): string {
  return BEARER.test(authorization) ? authorization.replace(BEARER, '') : '';
}

function ticketIn(query: unknown): unknown {
  return typeof query === 'object' && query !== null && 'ticket' in query ? query.ticket : undefined;
}

function configuredKey({ keyId }: ApiToken, hmac: Uint8Array): KeyRecord {
  const id = digestId('configured', keyId) as KeyRowId;
  return { id, keyId, tenantId: null, hash: hmac, scopes: [], expiresAt: null, revokedAt: null };
}

const REASONS: Partial<Record<HttpErrorCode, string>> = {
  unauthenticated: 'send Authorization: Bearer with a valid key',
  key_expired: 'the key has expired',
  key_revoked: 'the key was revoked',
  tenant_suspended: 'the tenant is suspended',
};

/** Said of a key by its form alone. */
const OTHER_DOOR: Readonly<Record<ApiToken['kind'], string>> = {
  operator: 'this is an operator key: it opens /admin on the internal address and nothing here',
  tenant: 'this is the key of a tenant: operators have keys that begin with tkop_',
};
