import { systemClock } from '@turnkeeper/platform/clock';
import { SessionSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { ago, shorten } from '../show.ts';
import { sessionInPath } from './arguments.ts';
import { registerNoun } from './nouns.ts';
import { registerSessionCommands } from './session-commands.ts';

/** `turnkeeper sessions` */
export function registerSessions(program: Command): void {
  const nowMs = systemClock.nowMs();
  const sessions = registerNoun(program, {
    noun: 'sessions',
    description: 'conversations, newest first',
    door: 'tenant',
    path: '/sessions',
    row: SessionSchema.loose(),
    columns: [
      { title: 'session', of: (session) => shorten(session.sessionKey, 38) },
      { title: 'kind', of: (session) => session.kind },
      { title: 'channel', of: (session) => shorten(session.channel, 10) },
      { title: 'status', of: (session) => session.status },
      { title: 'last', of: (session) => ago(session.updatedAt, nowMs), right: true },
    ],
    filters: [
      { flag: '--agent <agent>', param: 'agentId', help: 'of this agent (name or id)', isScope: true },
      { flag: '--kinds <kinds>', param: 'kinds', help: 'main, group, cron, hook, node, other, with commas' },
      { flag: '--channel <channel>', param: 'channel', help: 'of this platform' },
      { flag: '--user <user>', param: 'user', help: 'with this user id' },
      { flag: '--active-minutes <n>', param: 'activeMinutes', help: 'used in the last n minutes' },
      { flag: '--search <text>', param: 'q', help: 'whose key, label or name holds this text' },
    ],
    getBy: 'session',
    inPath: sessionInPath,
  });
  registerSessionCommands(sessions);
}
