import type { HttpSender, OpenAccount } from '@turnkeeper/channels';
import {
  type AccountConfig,
  type AccountId,
  AppError,
  type DueDelivery,
  type LaneId,
  noTracer,
  type SendOutcome,
  StoreError,
  type TenantId,
} from '@turnkeeper/core';
import { recordingCounter, VirtualClock } from '@turnkeeper/core/testing';
import { describe, expect, it } from 'vitest';
import { AccountChannels } from './reply-channels.ts';

const lane = { slot: 1, tenantId: 'tenant' as TenantId, laneId: 'lane' as LaneId };
const accountId = 'account' as AccountId;
const delivery = { lane, accountId } as DueDelivery;
const config = { channel: 'webhook', options: {} } as unknown as AccountConfig;
const gate = { mayBegin: async () => true, mayStillBegin: () => true };
const delivered: SendOutcome = { result: 'delivered', ref: null };

interface Given {
  readonly read?: () => Promise<AccountConfig | null>;
  readonly open?: () => Promise<OpenAccount>;
}

function scene({ read = async () => config, open = async () => account() }: Given) {
  const clock = new VirtualClock();
  const sent = recordingCounter('none');
  const channels = new AccountChannels({
    ...{ clock, sent, tracer: noTracer, egress: { send: async () => ({ status: 200, headers: {} }) } },
    accounts: { get: read },
    openAccounts: { of: open },
  });
  return { clock, sent, channels, end: new AbortController() };
}

function account(canSend = true): OpenAccount {
  const send = async (_reply: unknown, { http }: { readonly http: HttpSender }) => {
    await http.send({ url: 'https://example.com', headers: {}, body: '', timeoutMs: 1 });
    return delivered;
  };
  const egress = canSend ? { send } : null;
  return { ingress: {}, egress } as unknown as OpenAccount;
}

describe('a reply', () => {
  it('goes out through its account’s channel', async () => {
    const { channels, sent, end } = scene({});
    expect(await channels.canSend(lane, accountId)).toBe(true);
    expect(await channels.send(delivery, gate, end.signal)).toEqual({
      ...{ platform: 'webhook', outcome: delivered, ledgerEnabled: true },
    });
    expect(sent.seen).toEqual({ all: 1 });
  });

  it('is sent once at most where its account says that no ledger is kept', async () => {
    const { channels, end } = scene({ read: async () => ({ ...config, options: { ledger: 'off' } }) });
    expect(await channels.send(delivery, gate, end.signal)).toMatchObject({ ledgerEnabled: false });
  });

  it('does not go out when this worker ends first', async () => {
    const { channels, sent, end } = scene({});
    expect(await channels.send(delivery, { ...gate, mayBegin: async () => false }, end.signal)).toBe(null);
    expect(sent.seen).toEqual({});
  });

  it('is not owed through an account that cannot send', async () => {
    const { channels } = scene({ open: async () => account(false) });
    expect(await channels.canSend(lane, accountId)).toBe(false);
  });

  it('fails for good when its account is gone or cannot be used, and says why', async () => {
    const broken = new AppError({ code: 'secret_unresolved', message: 'no key' });
    const cases: [Given, string][] = [
      [{ read: async () => null }, 'account_not_found'],
      [{ open: () => Promise.reject(broken) }, 'secret_unresolved'],
      [{ open: async () => account(false) }, 'config_missing'],
    ];
    for (const [given, code] of cases) {
      const { channels, end } = scene(given);
      expect((await channels.send(delivery, gate, end.signal))?.outcome).toEqual({ result: 'failed', code });
    }
  });

  it('waits while the store is away: nothing has left yet', async () => {
    let isAway = true;
    const away = new StoreError({ failure: 'unknown', state: '08006', message: 'away' });
    const read = async () => {
      if (isAway) throw away;
      return config;
    };
    const { channels, clock, end } = scene({ read });
    const sending = channels.send(delivery, gate, end.signal);
    await clock.advance(10_000);
    isAway = false;
    await clock.advance(1_000);
    expect((await sending)?.outcome).toEqual(delivered);
  });
});
