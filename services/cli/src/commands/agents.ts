import { systemClock } from '@turnkeeper/platform/clock';
import { AgentSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { ago, shorten } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper agents` */
export function registerAgents(program: Command): void {
  const nowMs = systemClock.nowMs();
  registerNoun(program, {
    noun: 'agents',
    description: 'the bots of a tenant',
    door: 'either',
    path: '/agents',
    row: AgentSchema.loose(),
    columns: [
      { title: 'agent', of: (agent) => shorten(agent.name, 24) },
      { title: 'runtime', of: (agent) => agent.runtime },
      { title: 'model', of: (agent) => shorten(agent.openai?.model ?? '', 20) },
      { title: 'keys', of: ({ keyPolicy }) => (typeof keyPolicy === 'string' ? keyPolicy : keyPolicy.name) },
      { title: 'version', of: (agent) => agent.version, right: true },
      { title: 'changed', of: (agent) => ago(agent.updatedAt, nowMs), right: true },
    ],
    getBy: 'agent',
  });
}
