import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { AppError } from '@turnkeeper/core';
import type { Environment } from '../config/index.ts';
import { systemClock } from '../process/clock.ts';
import { type GuardedChild, startGuarded } from '../process/guarded-child.ts';
import { freePort } from './free-port.ts';
import type { LocalService, OnDied, ServiceName, ServiceSource, StopManner } from './types.ts';

/** How one kind of server is started, asked and stopped. */
export interface ProgramRecipe {
  readonly name: ServiceName;
  readonly source: ServiceSource;
  readonly program: string;
  readonly env: Environment;
  readonly uid?: number;
  /** Its output is added to this file. */
  readonly logFile: string;
  readonly deathSignal: 'SIGKILL' | 'SIGQUIT';
  readonly gentleSignal: NodeJS.Signals;
  readonly immediateSignal: NodeJS.Signals;
  urlAt(port: number): string;
  /** Called before each start: clears what a killed predecessor left. May write files that name the port. */
  prepare(port: number): Promise<void>;
  argsAt(port: number): readonly string[];
  /** Written to its standard input, which is then closed. */
  inputAt?(port: number): string;
  /** True when it serves. May fail while it does not. */
  answers(port: number): Promise<boolean>;
}

const START_MS = 60_000;
const POLL_MS = 20;
const START_TRIES = 5;
const RETRY_MS = 200;
const STOP_STEP_MS = 10_000;

/** A server program as a child of this process, on a port of its own. */
export class ProgramService implements LocalService {
  readonly name: ServiceName;
  readonly source: ServiceSource;
  readonly #recipe: ProgramRecipe;
  readonly #onDied: OnDied;
  #port = 0;
  #child: GuardedChild | null = null;

  constructor(recipe: ProgramRecipe, onDied: OnDied) {
    this.name = recipe.name;
    this.source = recipe.source;
    this.#recipe = recipe;
    this.#onDied = onDied;
  }

  get url(): string {
    return this.#recipe.urlAt(this.#port);
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  async start(): Promise<void> {
    if (this.#child) return;
    // somebody else may take the port before the server does; and what a killed server leaves may need a moment to go
    for (let triesLeft = START_TRIES; triesLeft > 0; triesLeft--) {
      const port = this.#port === 0 ? await freePort() : this.#port;
      if (await this.#startAt(port)) {
        this.#port = port;
        return;
      }
      await systemClock.sleep(RETRY_MS);
    }
    throw new AppError({
      code: 'store_unavailable',
      message: `${this.name} did not start (${this.#recipe.program}); its own words are in ${this.#recipe.logFile}`,
    });
  }

  async stop(manner: StopManner): Promise<void> {
    const child = this.#child;
    if (!child) return;
    this.#child = null;
    const { gentleSignal, immediateSignal } = this.#recipe;
    const signals = manner === 'gentle' ? [gentleSignal, immediateSignal] : [immediateSignal];
    for (const signal of [...signals, 'SIGKILL'] as const) {
      child.process.kill(signal);
      if (await endsWithin(child, STOP_STEP_MS)) return;
    }
  }

  close(): Promise<void> {
    return this.stop('gentle');
  }

  /** False when the program ended before it served. */
  async #startAt(port: number): Promise<boolean> {
    const child = await this.#spawn(port);
    const deadlineMs = systemClock.monotonicMs() + START_MS;
    while (child.alive && systemClock.monotonicMs() < deadlineMs) {
      if (await this.#recipe.answers(port).catch(() => false)) {
        this.#child = child;
        void child.ended.then(() => this.#noticeDeath(child));
        return true;
      }
      await systemClock.sleep(POLL_MS);
    }
    child.process.kill('SIGKILL');
    await child.ended;
    return false;
  }

  async #spawn(port: number): Promise<GuardedChild> {
    const { program, env, uid, logFile, deathSignal } = this.#recipe;
    await this.#recipe.prepare(port);
    const input = this.#recipe.inputAt?.(port);
    const log = openSync(logFile, 'a', 0o600);
    try {
      const child = await startGuarded({
        ...{ program, env, deathSignal },
        args: this.#recipe.argsAt(port),
        stdio: [input === undefined ? 'ignore' : 'pipe', log, log],
        ...(uid === undefined ? {} : { uid }),
      });
      child.process.stdin?.end(input);
      return child;
    } finally {
      closeSync(log);
    }
  }

  #noticeDeath(child: GuardedChild): void {
    if (this.#child !== child) return;
    this.#child = null;
    this.#onDied(this.name);
  }
}

/** Connects, writes a line, and resolves with the first bytes that come back. */
export function askTcp(port: number, question: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 2000 }, () => socket.write(question));
    const fail = (err?: Error) => {
      socket.destroy();
      reject(err ?? new AppError({ code: 'store_unavailable', message: 'no answer in time' }));
    };
    socket.once('data', (chunk) => {
      socket.destroy();
      resolve(chunk.toString('latin1'));
    });
    socket.once('error', fail);
    socket.once('timeout', () => fail());
    socket.once('close', () => fail());
  });
}

async function endsWithin(child: GuardedChild, ms: number): Promise<boolean> {
  const done = new AbortController();
  await Promise.race([child.ended, systemClock.sleep(ms, done.signal)]);
  done.abort();
  return !child.alive;
}
