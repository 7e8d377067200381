import { UsageSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { shorten } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper usage` */
export function registerUsage(program: Command): void {
  registerNoun(program, {
    noun: 'usage',
    description: 'what was used, by day (UTC) and agent, newest day first',
    door: 'tenant',
    path: '/usage',
    row: UsageSchema.loose(),
    columns: [
      { title: 'day', of: (usage) => usage.day },
      { title: 'agent', of: (usage) => shorten(usage.agent ?? usage.agentId, 20) },
      { title: 'turns', of: (usage) => usage.turns, right: true },
      { title: 'events', of: (usage) => usage.events, right: true },
      { title: 'deliveries', of: (usage) => usage.deliveries, right: true },
      { title: 'in', of: (usage) => usage.tokensIn, right: true },
      { title: 'out', of: (usage) => usage.tokensOut, right: true },
    ],
    filters: [
      { flag: '--from <day>', param: 'from', help: 'from this day on (2026-01-31)' },
      { flag: '--to <day>', param: 'to', help: 'up to this day' },
      { flag: '--agent <agent>', param: 'agentId', help: 'of this agent (name or id)' },
    ],
    getBy: 'day',
    isNamed: ({ day }, name) => day === name,
    namesMany: true,
  });
}
