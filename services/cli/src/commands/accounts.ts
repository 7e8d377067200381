import { systemClock } from '@turnkeeper/platform/clock';
import { AccountSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { ago, shorten } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper accounts` */
export function registerAccounts(program: Command): void {
  const nowMs = systemClock.nowMs();
  registerNoun(program, {
    noun: 'accounts',
    description: 'connections of a tenant’s agents to platforms',
    door: 'either',
    path: '/accounts',
    row: AccountSchema.loose(),
    columns: [
      { title: 'account', of: (account) => shorten(account.name, 16) },
      { title: 'channel', of: (account) => account.channel },
      { title: 'agent', of: (account) => shorten(account.agent, 14) },
      { title: 'id', of: (account) => account.id },
      { title: 'changed', of: (account) => ago(account.updatedAt, nowMs), right: true },
    ],
    getBy: 'account',
  });
}
