import type { StreamEvent } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { followEvents } from '../follow-events.ts';
import { addOutputFlag, dim, type OutputFormat, print } from '../output.ts';
import { shorten } from '../show.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { sessionInPath, wholeNumber } from './arguments.ts';

interface TailFlags extends TargetFlags {
  readonly output: OutputFormat;
  readonly agent?: string;
  readonly after?: number;
  readonly types?: string;
  readonly deltas?: true;
  readonly count?: number;
}

const COUNT_MAX = 1_000_000_000;
const SEQ_MAX = 999_999_999_999_999;

/** `turnkeeper tail` */
export function registerTail(program: Command): void {
  const command = program
    .command('tail')
    .argument('[session]', 'only this conversation: its key or ses_…')
    .description('follow what happens to the conversations of a tenant, until it is interrupted')
    .option('--agent <agent>', 'whose conversation, where two agents have the key')
    .option('--after <seq>', 'of one conversation: first what happened after this seq', wholeNumber(0, SEQ_MAX))
    .option('--types <types>', 'only these types, with commas')
    .option('--deltas', 'also the pieces of replies that are being written')
    .option('--count <n>', 'end after so many events', wholeNumber(1, COUNT_MAX));
  addTargetFlags(addOutputFlag(command), 'tenant').action(async (session: string | undefined, flags: TailFlags) => {
    const interrupted = new AbortController();
    const stop = () => interrupted.abort();
    process.once('SIGINT', stop).once('SIGTERM', stop);
    const door = (await resolveTarget(flags)).tenant();
    const onRetry = () => process.stderr.write(`${dim('the stream broke; opening it again')}\n`);
    let left = flags.count ?? COUNT_MAX;
    for await (const event of followEvents({
      ...door,
      path: pathOf(session, flags),
      ...{ signal: interrupted.signal, onRetry },
    })) {
      print(flags.output === 'table' ? lineOf(event) : JSON.stringify(event, null, flags.output === 'json' ? 2 : 0));
      if (--left === 0) break;
    }
  });
}

function pathOf(session: string | undefined, { agent, after, types, deltas }: TailFlags): string {
  const query = new URLSearchParams({ deltas: String(deltas === true) });
  if (agent !== undefined) query.set('agentId', agent);
  if (after !== undefined) query.set('after', String(after));
  if (types !== undefined) query.set('types', types);
  if (session === undefined) return `/v1/events?${query}`;
  return `/v1/sessions/${sessionInPath(session)}/events?${query}`;
}

const SESSION_WIDTH = 28;
const TYPE_WIDTH = 18;
const TEXT_WIDTH = 60;

/** When, in which conversation, what; and of it what is told in a few words. */
export function lineOf({ at, type, sessionKey, data }: StreamEvent): string {
  const time = dim(at.slice('YYYY-MM-DDT'.length, -1));
  const what = ['status', 'role', 'text', 'reason', 'code', 'state', 'prompt']
    .map((name) => data[name])
    .filter((value) => typeof value === 'string' && value !== '')
    .map((value) => shorten(String(value).replaceAll(/\s+/g, ' '), TEXT_WIDTH));
  const where = shorten(sessionKey ?? '', SESSION_WIDTH).padEnd(SESSION_WIDTH);
  return `${time}  ${where}  ${type.padEnd(TYPE_WIDTH)}  ${what.join(' ')}`.trimEnd();
}
