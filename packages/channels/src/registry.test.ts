import type { AccountConfig, AccountId, AgentId, TenantId } from '@turnkeeper/core';
import { describe, expect, it } from 'vitest';
import { channelOf, OpenAccounts } from './registry.ts';

function account(
  channel: string,
  secrets: Record<string, string>,
  onSecret: (name: string) => void = () => undefined,
): AccountConfig {
  return {
    tenantId: 't' as TenantId,
    tenantName: 'acme',
    accountId: 'a' as AccountId,
    name: 'deploys',
    version: 1,
    agentId: 'g' as AgentId,
    channel,
    options: { verify: 'standard-webhooks', replyUrl: 'http://127.0.0.1:9/in' },
    secret: (name) => {
      onSecret(name);
      return Promise.resolve(secrets[name] ?? null);
    },
  };
}

describe('channels', () => {
  it('are found by name, and a name that is none is refused', () => {
    expect(channelOf('webhook').manifest.id).toBe('webhook');
    expect(() => channelOf('pigeon')).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});

describe('OpenAccounts', () => {
  it('opens a version once, however often it is used', async () => {
    const asked: string[] = [];
    const accounts = new OpenAccounts();
    const config = account('webhook', { secret: 's' }, (name) => asked.push(name));
    const [first, second] = await Promise.all([accounts.of(config), accounts.of(config)]);
    expect(first).toBe(second);
    expect(first.egress).not.toBeNull();
    expect(asked).toEqual(['secret', 'replySecret']);
  });

  it('refuses an account of a channel that is not there', async () => {
    await expect(new OpenAccounts().of(account('pigeon', {}))).rejects.toMatchObject({ code: 'config_invalid' });
  });
});
