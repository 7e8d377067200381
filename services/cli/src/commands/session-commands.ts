import { randomUUID } from 'node:crypto';
import { type Command, Option } from 'commander';
import { type ApiCall, callApi } from '../api.ts';
import { addOutputFlag, type OutputFormat, print } from '../output.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { sessionInPath } from './arguments.ts';
import { printAnswer } from './nouns.ts';

const COMMANDS = {
  stop: 'end the turn that runs and drop the first waiting message',
  reset: 'drop what waits and begin a fresh session',
  pause: 'take over: messages are stored, no turns run',
  unpause: 'give the conversation back to its agent',
  suspend: 'let the next message begin a fresh session',
  resume: 'take a suspension back',
  archive: 'close the session',
} as const;

interface Flags extends TargetFlags {
  readonly output: OutputFormat;
  readonly agent?: string;
}

/** `turnkeeper sessions stop|reset|pause|…|label|delete|outbound`: what people do to conversations. */
export function registerSessionCommands(sessions: Command): void {
  for (const [verb, help] of Object.entries(COMMANDS)) {
    verbOf(sessions, verb, help).action((session: string, flags: Flags) =>
      call(session, flags, { method: 'POST', rest: `/${verb}` }),
    );
  }
  verbOf(sessions, 'label', 'name the conversation for people; without a label: take its name away')
    .argument('[label]')
    .action((session: string, label: string | undefined, flags: Flags) =>
      call(session, flags, { method: 'PATCH', body: { label: label ?? null } }),
    );
  verbOf(sessions, 'delete', 'delete what was said in the conversation, for good').action(
    async (session: string, flags: Flags) => {
      await call(session, flags, { method: 'DELETE' });
      if (flags.output === 'table') print('deleted');
    },
  );
  verbOf(sessions, 'outbound', 'say something in the conversation without a turn')
    .argument('<text>')
    .addOption(new Option('--author <author>', 'who speaks').choices(['agent', 'human', 'system']).default('human'))
    .option('--account <account>', 'leave by this account (name or id)')
    .action((session: string, text: string, flags: Flags & { readonly author: string; readonly account?: string }) => {
      const { author, account } = flags;
      const body = { text, author, idempotencyKey: randomUUID(), ...(account !== undefined && { accountId: account }) };
      return call(session, flags, { method: 'POST', rest: '/outbound', body });
    });
}

function verbOf(sessions: Command, verb: string, help: string): Command {
  const command = sessions.command(verb).description(help).argument('<session>');
  command.option('--agent <agent>', 'of this agent (name or id)');
  return addTargetFlags(addOutputFlag(command), 'tenant');
}

async function call(
  session: string,
  flags: Flags,
  { rest = '', ...how }: Pick<ApiCall, 'method' | 'body'> & { readonly rest?: string },
): Promise<void> {
  const target = await resolveTarget(flags);
  const query = flags.agent === undefined ? '' : `?${new URLSearchParams({ agentId: flags.agent })}`;
  const path = `/v1/sessions/${sessionInPath(session)}${rest}${query}`;
  const answer = await callApi({ ...target.tenant(), ...how, path });
  if (answer !== null) printAnswer(answer, flags.output);
}
