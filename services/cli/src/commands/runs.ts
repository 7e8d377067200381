import { systemClock } from '@turnkeeper/platform/clock';
import { RUN_STATUSES, RunSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { ago, shorten } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper runs` */
export function registerRuns(program: Command): void {
  const nowMs = systemClock.nowMs();
  registerNoun(program, {
    noun: 'runs',
    description: 'what became of each accepted message, newest first',
    door: 'tenant',
    path: '/runs',
    row: RunSchema.loose(),
    columns: [
      { title: 'run', of: (run) => run.runId },
      { title: 'status', of: (run) => run.status },
      { title: 'session', of: (run) => shorten(run.sessionKey, 25) },
      { title: 'tries', of: (run) => run.attempts, right: true },
      { title: 'age', of: (run) => ago(run.createdAt, nowMs), right: true },
    ],
    filters: [
      { flag: '--status <status>', param: 'status', help: `one of ${RUN_STATUSES.join(', ')}` },
      { flag: '--session <key>', param: 'sessionKey', help: 'of this session key' },
      { flag: '--agent <agent>', param: 'agentId', help: 'of this agent (name or id)' },
    ],
    getBy: 'run',
  });
}
