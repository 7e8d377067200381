import { createHmac } from 'node:crypto';
import { type Clock, formatId, type Ids, parseId, type TenantId, type TicketUses } from '@turnkeeper/core';
import { EncryptJWT, errors, jwtDecrypt } from 'jose';
import { z } from 'zod';
import type { ClientTokens } from './client-tokens.ts';
import type { Principal } from './principal.ts';
import type { Visitor } from './visitor.ts';

export interface StreamTicketsOptions {
  readonly clientTokens: Pick<ClientTokens, 'sign' | 'read'>;
  readonly uses: TicketUses;
  readonly pepper: string;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Whose ticket it was. A key is looked up by who redeems it. */
export type TicketHolder = Visitor | { readonly kind: 'key'; readonly tenantId: TenantId; readonly keyId: string };

const LIFE_MS = 60_000;
const TICKET_LENGTH_MAX = 4096;
const HEADER = { alg: 'dir', enc: 'A256GCM' } as const;

const ClaimsSchema = z.object({
  ten: z.string(),
  jti: z.uuid(),
  exp: z.number(),
  key: z.string().optional(),
  token: z.string().optional(),
});

/**
 * Tickets for addresses (surface §2): `EventSource` and `WebSocket` of browsers send no headers, and what stands in an
 * address is written into logs. So a ticket lives a minute, works once on whatever node, and is encrypted: it says nothing.
 */
export class StreamTickets {
  readonly #options: StreamTicketsOptions;
  readonly #key: Uint8Array;

  constructor(options: StreamTicketsOptions) {
    this.#options = options;
    this.#key = createHmac('sha256', options.pepper).update('stream tickets').digest();
  }

  async issue(holder: Principal): Promise<{ readonly ticket: string; readonly expiresAtMs: number }> {
    const { clock, clientTokens, ids } = this.#options;
    const expiresAtMs = clock.nowMs() + LIFE_MS;
    const claims = holder.kind === 'key' ? { key: holder.key.keyId } : { token: await clientTokens.sign(holder) };
    const ticket = await new EncryptJWT({ ...claims, ten: formatId('ten', holder.tenant.tenantId) })
      .setProtectedHeader(HEADER)
      .setJti(ids.next())
      .setExpirationTime(Math.ceil(expiresAtMs / 1000))
      .encrypt(this.#key);
    return { ticket, expiresAtMs };
  }

  /** Null when it is none, is over, or was used. @throws AppError `token_expired` of the visitor's token; StoreError */
  async redeem(ticket: string): Promise<TicketHolder | null> {
    const claims = await this.#open(ticket);
    const tenantId = claims === null ? null : parseId<TenantId>(claims.ten, 'ten');
    if (claims === null || tenantId === null) return null;
    const used = { id: claims.jti, expiresAt: new Date(claims.exp * 1000) };
    if (!(await this.#options.uses.use(tenantId, used))) return null;
    if (claims.key !== undefined) return { kind: 'key', tenantId, keyId: claims.key };
    return claims.token === undefined ? null : this.#options.clientTokens.read(claims.token);
  }

  async #open(ticket: string): Promise<z.infer<typeof ClaimsSchema> | null> {
    if (ticket.length > TICKET_LENGTH_MAX) return null;
    try {
      const currentDate = new Date(this.#options.clock.nowMs());
      const { payload } = await jwtDecrypt(ticket, this.#key, { currentDate, requiredClaims: ['exp', 'jti'] });
      return ClaimsSchema.safeParse(payload).data ?? null;
    } catch (error) {
      if (error instanceof errors.JOSEError || error instanceof TypeError) return null;
      throw error;
    }
  }
}
