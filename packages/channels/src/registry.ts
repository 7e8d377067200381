import { type AccountConfig, AppError } from '@turnkeeper/core';
import type { Channel, OpenAccount } from './channel.ts';
import { webchat } from './webchat/webchat.ts';
import { webhook } from './webhook/webhook.ts';

const CHANNELS: readonly Channel[] = [webhook, webchat];

/** @throws AppError `config_invalid` when there is no such channel */
export function channelOf(id: string): Channel {
  const channel = CHANNELS.find(({ manifest }) => manifest.id === id);
  if (channel !== undefined) return channel;
  const known = CHANNELS.map(({ manifest }) => manifest.id).join(', ');
  throw new AppError({
    code: 'config_invalid',
    message: `no such channel; there is ${known}`,
    fields: [{ pointer: '/channel', code: 'invalid_field' }],
  });
}

/** Accounts in use, opened once per version that was read: what the cache of configurations forgets is forgotten here. */
export class OpenAccounts {
  readonly #opened = new WeakMap<AccountConfig, Promise<OpenAccount>>();

  /** @throws AppError `config_invalid` or `secret_unresolved` */
  of(config: AccountConfig): Promise<OpenAccount> {
    const known = this.#opened.get(config);
    if (known !== undefined) return known;
    const opened = openAccount(config);
    this.#opened.set(config, opened);
    return opened;
  }
}

async function openAccount(config: AccountConfig): Promise<OpenAccount> {
  const channel = channelOf(config.channel);
  const values = channel.manifest.secretNames.map(async (name) => [name, await config.secret(name)] as const);
  const known = (await Promise.all(values)).flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  );
  return channel.open({ name: config.name, options: config.options, secrets: Object.fromEntries(known) });
}
