import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@turnkeeper/test-harness';
import { expect } from 'vitest';

/** What is typed in a terminal of a page, and what is then to be read there. */
export interface Step {
  readonly terminal: string;
  /** `^C` is the keys; null: nothing, the command before goes on. */
  readonly command: string | null;
  readonly expected: readonly string[];
}

/**
 * Commands after `$ `, each with the lines that follow it, of every console block; the word after `console` names the
 * terminal. A page is read by people, so a block may begin with what a command typed earlier prints meanwhile.
 */
export function stepsOf(page: string): Step[] {
  return [...page.matchAll(/```console *(.*)\n([\s\S]*?)```/g)].flatMap(([, terminal = '', text = '']) => {
    const found: { terminal: string; command: string | null; expected: string[] }[] = [];
    for (const line of text.trimEnd().split('\n')) {
      const command = line.startsWith('$ ') ? line.slice(2) : line === '^C' ? line : null;
      if (command !== null || found.length === 0) found.push({ terminal, command, expected: [] });
      if (command === null) found.at(-1)?.expected.push(line);
    }
    return found;
  });
}

/** What the page asks to save, by path: the block after "save … as `path`". */
export function filesOf(page: string): Map<string, string> {
  const found = page.matchAll(/[Ss]ave\s[^`]*\sas `([^`]+)`[^`]*```\w+\n([\s\S]*?)```/g);
  return new Map([...found].map(([, path = '', text = '']) => [path, text]));
}

const PATIENCE_MS = 180_000;
/** Two keypresses within 700 ms are one: npm passes on what the terminal has sent already. */
const KEYPRESS_MS = 1_000;

/** A terminal whose shell keeps what is exported. One command at a time: the next waits for the end of the one before. */
export class Terminal {
  #env: NodeJS.ProcessEnv;
  #running: ChildProcess | null = null;
  #ended: Promise<unknown> = Promise.resolve();
  #printed = '';
  #pressedMs = 0;

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env;
  }

  /** Types the command and waits for what it is to print; whether it has ended then, the next command will see. */
  async take({ command, expected }: Step): Promise<void> {
    if (command?.startsWith('export ')) return this.#export(command);
    if (command === '^C') await this.press();
    else if (command !== null) await this.#start(command);
    const seen = () => matches(this.#printed.trimEnd().split('\n'), expected);
    const isOver = () => this.#running === null;
    await until(`${command} prints what the page says`, () => seen() || isOver(), PATIENCE_MS).catch(() => undefined);
    expect(this.#printed, `${command}`).toSatisfy(seen);
  }

  /** Ctrl-C: to the whole group, as a terminal does. */
  async press(): Promise<void> {
    await sleep(Math.max(0, this.#pressedMs + KEYPRESS_MS - performance.now()));
    this.#pressedMs = performance.now();
    this.#printed = '';
    if (this.#running?.pid !== undefined) process.kill(-this.#running.pid, 'SIGINT');
  }

  /** Ends what runs. */
  async close(): Promise<void> {
    if (this.#running !== null) await this.press();
    await this.#ended;
  }

  async #export(command: string): Promise<void> {
    await this.#start(`${command}; env -0`);
    await this.#ended;
    const variables = this.#printed.split('\0').map((line) => [...line.split('=', 1), line.replace(/^[^=]*=/, '')]);
    this.#env = Object.fromEntries(variables);
  }

  async #start(command: string): Promise<void> {
    await this.#ended;
    this.#printed = '';
    const child = spawn('bash', ['-c', command], {
      ...{ detached: true, env: this.#env, stdio: ['ignore', 'pipe', 'pipe'] },
    });
    for (const output of [child.stdout, child.stderr]) {
      output?.on('data', (chunk: Buffer) => {
        this.#printed += chunk.toString('utf8');
      });
    }
    this.#running = child;
    this.#ended = once(child, 'close').then(() => {
      this.#running = null;
    });
  }
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
