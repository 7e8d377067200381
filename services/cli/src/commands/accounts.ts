import { systemClock } from '@turnkeeper/platform/clock';
import { AccountSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { callApi } from '../api.ts';
import { addOutputFlag, type OutputFormat } from '../output.ts';
import { ago, shorten } from '../show.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { printAnswer, registerNoun } from './nouns.ts';

/** `turnkeeper accounts` */
export function registerAccounts(program: Command): void {
  const nowMs = systemClock.nowMs();
  const accounts = registerNoun(program, {
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
  const unpause = accounts
    .command('unpause')
    .description('let replies leave again before the wait is over that a platform asked for (operators)')
    .argument('<account>', 'its name or id')
    .requiredOption('--tenant <name>', 'of this tenant');
  addTargetFlags(addOutputFlag(unpause), 'operator').action(async (account: string, flags: UnpauseFlags) => {
    const target = await resolveTarget(flags);
    const query = new URLSearchParams({ tenant: flags.tenant });
    const path = `/admin/v1/accounts/${encodeURIComponent(account)}/unpause?${query}`;
    printAnswer(await callApi({ ...target.operator(), method: 'POST', path }), flags.output);
  });
}

interface UnpauseFlags extends TargetFlags {
  readonly output: OutputFormat;
  readonly tenant: string;
}
