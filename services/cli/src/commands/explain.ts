import { type Timeline, TimelineSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { callApi } from '../api.ts';
import { CliError } from '../exit.ts';
import { addOutputFlag, dim, type OutputFormat, paint, print } from '../output.ts';
import { shorten, shortId } from '../show.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';

/** `turnkeeper explain` */
export function registerExplain(program: Command): void {
  const command = program
    .command('explain')
    .argument('<id>', 'evt_… or run_…')
    .description('tell what happened to a message: when, and on which process');
  addTargetFlags(addOutputFlag(command), 'tenant').action(async (id: string, flags: ExplainFlags) => {
    if (!/^(evt|run)_/.test(id)) throw new CliError('usage', `${id} is the id of no message: give evt_… or run_….`);
    const door = (await resolveTarget(flags)).tenant();
    const answer = await callApi({ ...door, path: `/v1/events/${encodeURIComponent(id)}/timeline` });
    if (flags.output === 'table') for (const line of tell(TimelineSchema.loose().parse(answer))) print(line);
    else print(JSON.stringify(answer, null, flags.output === 'json' ? 2 : undefined));
  });
}

type ExplainFlags = TargetFlags & { readonly output: OutputFormat };
type Entry = Timeline['data'][number];

const SINCE_WIDTH = 10;
const STEP_WIDTH = 36;
const NODE_WIDTH = 24;
const QUESTION_WIDTH = 60;

/** A headline and one line per step: milliseconds since the one before, what happened, and where. */
export function tell({ runId, sessionKey, status, data }: Timeline): string[] {
  const [first] = data;
  const lines = data.map((entry, i) => {
    const before = data[i - 1];
    const since = before ? `+${Date.parse(entry.at) - Date.parse(before.at)} ms` : timeOf(entry.at);
    const node = entry.nodeName === undefined ? shortId(entry.node ?? null) : shorten(entry.nodeName, NODE_WIDTH);
    const where = node === '' ? '' : dim(`on ${node}`);
    return `${dim(since.padStart(SINCE_WIDTH + 2))}  ${stepOf(entry).padEnd(STEP_WIDTH)}  ${where}`.trimEnd();
  });
  const day = first ? dim(first.at.slice(0, 'YYYY-MM-DD'.length)) : '';
  return [`${runId}  ${paint(colourOf(status), status)}`, `${dim('in')} ${sessionKey}  ${day}`, '', ...lines];
}

function timeOf(instant: string): string {
  return instant.slice('YYYY-MM-DDT'.length, -1);
}

function stepOf(entry: Entry): string {
  const because = entry.code === undefined ? '' : `: ${entry.code}`;
  switch (entry.step) {
    case 'claimed': {
      const why = entry.reason === undefined || entry.reason === 'message' ? '' : `, ${entry.reason}`;
      return `turn ${entry.attempt ?? 1} begins${why}`;
    }
    case 'turn_ended':
      return `turn ${entry.attempt ?? 1} ends ${words(entry.status)}${because}`;
    case 'asked':
      return `asks ${entry.inputId ?? ''}: ${shorten(entry.question ?? '', QUESTION_WIDTH)}`;
    case 'input_resolved':
      return `question ${words(entry.status)}`;
    case 'settled':
      return `settled ${words(entry.status)}${because}`;
    case 'delivery':
      return `reply ${words(entry.status)}${triesOf(entry)}${because}`;
    default:
      return words(entry.step);
  }
}

function triesOf({ attempt }: Entry): string {
  return attempt === undefined || attempt < 2 ? '' : ` at try ${attempt}`;
}

function words(state: string | undefined): string {
  return (state ?? '').replaceAll('_', ' ');
}

function colourOf(status: string): 'green' | 'yellow' | 'red' {
  if (status === 'ok' || status === 'no_reply') return 'green';
  return status === 'queued' || status === 'running' || status === 'waiting' ? 'yellow' : 'red';
}
