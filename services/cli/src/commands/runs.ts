import { systemClock } from '@turnkeeper/platform/clock';
import { RUN_STATUSES, RunSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { callApi } from '../api.ts';
import { CliError } from '../exit.ts';
import { addOutputFlag, type OutputFormat } from '../output.ts';
import { ago, shorten } from '../show.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { printAnswer, registerNoun } from './nouns.ts';

/** `turnkeeper runs` */
export function registerRuns(program: Command): void {
  const nowMs = systemClock.nowMs();
  const runs = registerNoun(program, {
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
  const answer = runs
    .command('answer')
    .description('answer the question that a waiting run asks; it goes on with that')
    .argument('<run>', 'run_…')
    .argument('<text>');
  addTargetFlags(addOutputFlag(answer), 'tenant').action(answerQuestion);
}

interface AnswerFlags extends TargetFlags {
  readonly output: OutputFormat;
}

async function answerQuestion(run: string, text: string, flags: AnswerFlags): Promise<void> {
  const door = (await resolveTarget(flags)).tenant();
  const found = RunSchema.loose().parse(await callApi({ ...door, path: `/v1/runs/${encodeURIComponent(run)}` }));
  if (found.inputId === undefined) throw new CliError('failed', `The run waits for no answer: it is ${found.status}.`);
  const path = `/v1/inputs/${found.inputId}/answer`;
  printAnswer(await callApi({ ...door, method: 'POST', path, body: { text } }), flags.output);
}
