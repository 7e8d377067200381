import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, expect, test } from 'vitest';

/**
 * README's commands, run as they are written, in one shell session, against a cluster that its own first command has
 * started. Only where data are kept differs: in a folder of the test's, so that a cluster of this checkout is left alone.
 */
interface Step {
  readonly command: string;
  readonly expected: readonly string[];
}

const START_MS = 180_000;
const steps = stepsOf(readFileSync('README.md', 'utf8'));
let folder = '';
let started: ChildProcess;
let output = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnkeeper-readme-'));
  started = shell(steps[0]?.command ?? '');
  started.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  await until('npm start says that it runs', () => output.includes('Turnkeeper is running'), START_MS);
}, START_MS + 10_000);

afterAll(async () => {
  const ended = new Promise((resolve) => started.once('exit', resolve));
  // as Ctrl-C does: to the whole group
  if (started.pid !== undefined) process.kill(-started.pid, 'SIGINT');
  await ended;
  await rm(folder, { recursive: true });
}, 60_000);

test('npm start shows what README shows', () => {
  expect(steps[0]?.command).toBe('npm start');
  expect(output.split('\n')).toSatisfy((lines: string[]) => matches(lines, steps[0]?.expected ?? []));
});

test('every other command of README prints what README says', { timeout: 240_000 }, async () => {
  let exports = '';
  for (const { command, expected } of steps.slice(1)) {
    if (command.startsWith('export ')) {
      exports += `${command.replaceAll('./.data', folder)}\n`;
      continue;
    }
    const printed = await run(`${exports}${command.replaceAll('./.data', folder)}`);
    expect(printed, command).toSatisfy((text: string) => matches(text.trimEnd().split('\n'), expected));
  }
});

function shell(command: string): ChildProcess {
  return spawn('bash', ['-c', command], {
    detached: true,
    env: { ...withoutSettings(process.env), TURNKEEPER_DATA: folder, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** A reader's shell has no settings of a test run. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TURNKEEPER_')));
}

function run(command: string): Promise<string> {
  return new Promise((resolve) => {
    const child = shell(command);
    let printed = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString('utf8');
    });
    child.once('close', () => resolve(printed));
  });
}

/** Commands after `$ `, each with the lines that follow it, of every console block. */
function stepsOf(readme: string): Step[] {
  return [...readme.matchAll(/```console\n([\s\S]*?)```/g)].flatMap((block) => {
    const found: { command: string; expected: string[] }[] = [];
    for (const line of (block[1] ?? '').trimEnd().split('\n')) {
      if (line.startsWith('$ ')) found.push({ command: line.slice(2), expected: [] });
      else found.at(-1)?.expected.push(line);
    }
    return found;
  });
}

/** `…` stands for anything, alone on a line for any lines; runs of blanks count as one. */
function matches(printed: readonly string[], expected: readonly string[]): boolean {
  const [first, ...rest] = expected;
  if (first === undefined) return printed.length === 0;
  if (first === '…') return printed.some((_, i) => matches(printed.slice(i), rest)) || rest.length === 0;
  const [line, ...others] = printed;
  return line !== undefined && patternOf(first).test(squeeze(line)) && matches(others, rest);
}

function patternOf(expected: string): RegExp {
  const parts = squeeze(expected).split('…');
  return new RegExp(`^${parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`);
}

function squeeze(line: string): string {
  return line.replaceAll(/\s+/g, ' ').trim();
}
