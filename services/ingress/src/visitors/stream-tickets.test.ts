import type { TenantId } from '@turnkeeper/core';
import { SeededIds } from '@turnkeeper/core/testing';
import { describe, expect, it } from 'vitest';
import type { Caller } from './principal.ts';
import { StreamTickets } from './stream-tickets.ts';

const tenantId = '10000000-0000-7000-8000-000000000000' as TenantId;
const holder = { kind: 'key', key: { keyId: 'ownerkey' }, tenant: { tenantId } } as Caller;

function ticketsAt(nowMs: () => number, pepper = 'pepper of the unit tests') {
  const used = new Set<string>();
  return new StreamTickets({
    clientTokens: { sign: () => Promise.resolve('a.b.c'), read: () => Promise.resolve(null) },
    uses: {
      use: (_tenant, { id }) => Promise.resolve(!used.has(id) && used.add(id) !== undefined),
    },
    pepper,
    clock: { nowMs, monotonicMs: nowMs, sleep: () => Promise.resolve() },
    ids: new SeededIds(),
  });
}

describe('a stream ticket', () => {
  it('is its holder’s key, once', async () => {
    const tickets = ticketsAt(() => 1_800_000_000_000);
    const { ticket } = await tickets.issue(holder);
    expect(await tickets.redeem(ticket)).toEqual({ kind: 'key', tenantId, keyId: 'ownerkey' });
    expect(await tickets.redeem(ticket)).toBeNull();
  });

  it('is nothing after a minute, when changed, or under another pepper', async () => {
    let nowMs = 1_800_000_000_000;
    const tickets = ticketsAt(() => nowMs);
    const { ticket, expiresAtMs } = await tickets.issue(holder);
    expect(expiresAtMs).toBe(nowMs + 60_000);
    expect(await tickets.redeem(`${ticket.slice(0, -2)}AA`)).toBeNull();
    expect(await ticketsAt(() => nowMs, 'another pepper of the tests').redeem(ticket)).toBeNull();
    expect(await tickets.redeem('nonsense')).toBeNull();
    nowMs += 61_000;
    expect(await tickets.redeem(ticket)).toBeNull();
  });

  it('says nothing to who reads it in a log', async () => {
    const { ticket } = await ticketsAt(() => 1_800_000_000_000).issue(holder);
    const readable = ticket.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'));
    expect(readable.join()).not.toContain('ownerkey');
  });
});
