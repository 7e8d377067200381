import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { filesOf, type Step, stepsOf, Terminal } from './console-page.ts';

/**
 * The commands of README and of the first hour, run as they are written, against a cluster that README's own first command
 * has started. Only where data are kept differs, in a folder of the test's, so that a cluster of this checkout is left
 * alone; and the port of the model, which may be taken here.
 */
const START_MS = 180_000;
const readme = readFileSync('README.md', 'utf8');
const firstHour = readFileSync('docs/first-hour.md', 'utf8');
let folder = '';
const terminals = new Map<string, Terminal>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnkeeper-readme-'));
});

afterAll(async () => {
  for (const terminal of terminals.values()) await terminal.close();
  await rm(folder, { recursive: true });
}, 60_000);

test('npm start shows what README shows', { timeout: START_MS }, async () => {
  const [first] = stepsOf(readme);
  expect(first?.command).toBe('npm start');
  await take([first ?? { terminal: '', command: null, expected: [] }].map((step) => ({ ...step, terminal: '1' })));
});

test('every other command of README prints what README says', { timeout: 480_000 }, async () => {
  await take(stepsOf(readme).slice(1));
});

test('the first hour is as its page tells it, with a restart in the middle of an answer', {
  timeout: 600_000,
}, async () => {
  const port = await freePort();
  const page = firstHour.replaceAll('8555', String(port)).replaceAll(/(?<=[ `])\.data(?=\/)/g, folder);
  for (const [path, text] of filesOf(page)) await writeFile(path, text);
  const [start, ...steps] = stepsOf(page);
  expect(start).toMatchObject({ terminal: '1', command: 'npm start' });
  await take(steps);
});

async function take(steps: readonly Step[]): Promise<void> {
  for (const { terminal: name, command, expected } of steps) {
    const terminal = terminals.get(name) ?? new Terminal(readersShell());
    terminals.set(name, terminal);
    await terminal.take({ terminal: name, command: command?.replaceAll('./.data', folder) ?? null, expected });
  }
}

/** A reader's shell has no settings of a test run. */
function readersShell(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('TURNKEEPER_'));
  return { ...Object.fromEntries(own), TURNKEEPER_DATA: folder, NO_COLOR: '1' };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
