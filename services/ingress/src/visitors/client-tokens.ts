import { createHmac } from 'node:crypto';
import {
  type AccountConfig,
  type AccountConfigs,
  type AccountId,
  type AgentConfigs,
  type AgentId,
  AppError,
  type Clock,
  formatId,
  NAME_PATTERN,
  OWN_ROOM,
  parseId,
  type TenantConfig,
  type TenantConfigs,
  type TenantId,
} from '@turnkeeper/core';
import { CLIENT_TOKEN_SECONDS_MAX, ClientClaimsSchema } from '@turnkeeper/protocol';
import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { roomsOf, type Visitor } from './visitor.ts';

export interface ClientTokensOptions {
  readonly tenants: TenantConfigs;
  readonly agents: Pick<AgentConfigs, 'get'>;
  readonly accounts: AccountConfigs;
  /** The server's pepper: the key of every tenant's tokens is made of it. */
  readonly pepper: string;
  readonly clock: Clock;
}

const ALGORITHM = 'HS256';
/** The `typ` of tokens made here; what has another was signed by the owner of an account. */
const OWN_TYPE = 'tkct';
const ISSUER = 'turnkeeper';
/** How far an owner's clock may be off. */
const TOLERANCE_SECONDS = 60;
const TOKEN_LENGTH_MAX = 8192;

/**
 * Tokens of visitors (surface §2), both JWTs of HS256 so that any node can read them without asking:
 *
 *  own      `typ: tkct`, made by `POST /v1/client-tokens`; key = HMAC(pepper, tenant); names tenant, agent and account
 *  owner's  `kid: acc_…` or `<tenant>.<account>`; key = the secret `key` of that web chat account; claims sub, exp, name?, rooms?
 *
 * What is said of the tenant, the agent and the account is looked up at each use, so that a suspended tenant's tokens end.
 */
export class ClientTokens {
  readonly #options: ClientTokensOptions;

  constructor(options: ClientTokensOptions) {
    this.#options = options;
  }

  /** True for what has the form of a token; it may still be anybody's. */
  static isOne(text: string): boolean {
    return text.length <= TOKEN_LENGTH_MAX && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);
  }

  sign({ tenant, agent, account, sub, name, rooms, expiresAtMs }: Visitor): Promise<string> {
    const claims = {
      ...{ ten: formatId('ten', tenant.tenantId), agt: formatId('agt', agent.agentId), rooms: [...rooms] },
      ...(account === null ? {} : { acc: formatId('acc', account.accountId) }),
      ...(name === null ? {} : { name }),
    };
    return new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: OWN_TYPE })
      .setIssuer(ISSUER)
      .setSubject(sub)
      .setExpirationTime(Math.floor(expiresAtMs / 1000))
      .sign(this.#keyOf(tenant.tenantId));
  }

  /** Who holds the token. Null: it is none of ours. @throws AppError `token_expired`; StoreError */
  async read(token: string): Promise<Visitor | null> {
    try {
      const visitor = await (decodeProtectedHeader(token).typ === OWN_TYPE ? this.#own(token) : this.#owners(token));
      // a room whose name makes no key is found here, not at each use
      if (visitor !== null) roomsOf(visitor);
      return visitor;
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw expired();
      if (error instanceof errors.JOSEError || isForm(error)) return null;
      throw error;
    }
  }

  /** What ends a visitor's streams: its time, or the end of what its token names. Null while it may go on. @throws StoreError */
  async faultOf({
    tenant,
    agent,
    account,
    expiresAtMs,
  }: Visitor): Promise<'token_expired' | 'tenant_suspended' | null> {
    if (expiresAtMs <= this.#options.clock.nowMs()) return 'token_expired';
    const { tenants, agents, accounts } = this.#options;
    const { tenantId } = tenant;
    const [now, agentNow, accountNow] = await Promise.all([
      tenants.get(tenantId),
      agents.get(tenantId, agent.agentId),
      account === null ? null : accounts.get(tenantId, account.accountId),
    ]);
    if (now?.status === 'suspended') return 'tenant_suspended';
    const isGone = now?.status !== 'active' || agentNow === null || (account !== null && accountNow === null);
    return isGone ? 'token_expired' : null;
  }

  async #own(token: string): Promise<Visitor | null> {
    const named = decodeJwt(token);
    const tenantId = idOf<TenantId>(named['ten'], 'ten');
    if (tenantId === null) return null;
    const claims = await this.#verify(token, this.#keyOf(tenantId), { typ: OWN_TYPE, issuer: ISSUER });
    const tenant = await this.#options.tenants.get(tenantId);
    const agentId = idOf<AgentId>(claims['agt'], 'agt');
    const accountId = idOf<AccountId>(claims['acc'], 'acc');
    const account = accountId === null ? null : await this.#options.accounts.get(tenantId, accountId);
    if (tenant === null || agentId === null || (accountId !== null && account === null)) return null;
    return this.#visitor(claims, { tenant, agentId, account });
  }

  async #owners(token: string): Promise<Visitor | null> {
    const { kid } = decodeProtectedHeader(token);
    const found = kid === undefined ? null : await this.#account(kid);
    const key = found === null ? null : await found.account.secret('key');
    if (found === null || key === null) return null;
    const tolerance = { clockTolerance: TOLERANCE_SECONDS };
    const claims = await this.#verify(token, new TextEncoder().encode(key), tolerance);
    return this.#visitor(claims, { ...found, agentId: found.account.agentId });
  }

  async #verify(token: string, key: Uint8Array, expected: object): Promise<JWTPayload> {
    const currentDate = new Date(this.#options.clock.nowMs());
    const options = { ...expected, algorithms: [ALGORITHM], currentDate, requiredClaims: ['sub', 'exp'] };
    return (await jwtVerify(token, key, options)).payload;
  }

  async #visitor(
    payload: JWTPayload,
    of: { readonly tenant: TenantConfig; readonly agentId: AgentId; readonly account: AccountConfig | null },
  ): Promise<Visitor | null> {
    const { tenant, agentId, account } = of;
    const claims = ClientClaimsSchema.safeParse(payload);
    const agent = await this.#options.agents.get(tenant.tenantId, agentId);
    if (!claims.success || agent === null) return null;
    const { sub, name = null, exp, rooms } = claims.data;
    const isTooLong = exp * 1000 > this.#options.clock.nowMs() + (CLIENT_TOKEN_SECONDS_MAX + TOLERANCE_SECONDS) * 1000;
    if (isTooLong) return null;
    return {
      kind: 'visitor',
      tenant,
      agent,
      account,
      sub,
      name,
      rooms: roomNames(rooms, sub),
      expiresAtMs: exp * 1000,
    };
  }

  /** `acc_…`, or `<tenant>.<account>`, as in the addresses of hooks. */
  async #account(kid: string): Promise<{ readonly tenant: TenantConfig; readonly account: AccountConfig } | null> {
    const { tenants, accounts } = this.#options;
    const id = parseId<AccountId>(kid, 'acc');
    const [tenantName = '', accountName = '', ...more] = kid.split('.');
    const isNames = id === null && more.length === 0 && NAME_PATTERN.test(tenantName) && NAME_PATTERN.test(accountName);
    if (id === null && !isNames) return null;
    const tenantId = id === null ? null : await accounts.locate(id);
    const tenant = id === null ? await tenants.byName(tenantName) : tenantId && (await tenants.get(tenantId));
    if (tenant === null) return null;
    const account = await (id === null
      ? accounts.byName(tenant.tenantId, accountName)
      : accounts.get(tenant.tenantId, id));
    return account?.channel === 'webchat' ? { tenant, account } : null;
  }

  #keyOf(tenantId: TenantId): Uint8Array {
    return createHmac('sha256', this.#options.pepper).update(`client-token ${tenantId}`).digest();
  }
}

/** `self` is the room that only this visitor has. */
export function roomNames(rooms: 'self' | readonly string[] = 'self', sub: string): readonly string[] {
  return rooms === 'self' ? [`${OWN_ROOM}${sub}`] : [...new Set(rooms)];
}

function idOf<Id extends string>(value: unknown, prefix: 'ten' | 'agt' | 'acc'): Id | null {
  return typeof value === 'string' ? parseId<Id>(value, prefix) : null;
}

/** Text that is no JWT, or names rooms that no key can hold. */
function isForm(error: unknown): boolean {
  return error instanceof TypeError || (error instanceof AppError && error.code === 'malformed_key');
}

function expired(): AppError {
  return new AppError({ code: 'token_expired', message: 'the client token has expired; ask its page for a new one' });
}
