import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { AppError } from '@turnkeeper/core';
import { type Environment, environment } from '../config/index.ts';
import { findProgram } from './find-program.ts';

export interface GuardedChildOptions {
  /** Absolute path of the program. */
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Environment;
  readonly cwd?: string;
  readonly stdio: StdioOptions;
  /** Sent to the child by the kernel when this process dies, however it dies. */
  readonly deathSignal: 'SIGKILL' | 'SIGQUIT';
  /** Run under this user and group instead of root. */
  readonly uid?: number;
}

/** A running child whose end can be awaited any number of times. */
export interface GuardedChild {
  readonly process: ChildProcess;
  readonly pid: number;
  /** Resolves when it has ended; never rejects. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  /** True until it has ended. */
  readonly alive: boolean;
}

/**
 * Starts a program that cannot outlive this process, not even when this process is killed, and that a Ctrl-C at the
 * terminal does not reach: it leads a process group of its own. `setpriv` replaces itself by the program, so the pid is
 * the program's. Where there is no `setpriv` (macOS), a shell holds a pipe from here and ends the child when it closes.
 * @throws AppError `internal` when the program cannot be started
 */
export async function startGuarded(options: GuardedChildOptions): Promise<GuardedChild> {
  const setpriv = findProgram('setpriv');
  const [program, args] = setpriv ? [setpriv, setprivArguments(options)] : [options.program, options.args];
  const child = spawn(program, args, {
    env: { ...options.env },
    stdio: options.stdio,
    detached: true,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(setpriv || options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
  });
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  const pid = await pidOf(child, options.program);
  if (!setpriv) guardByPipe(child, pid, options.deathSignal);
  return {
    process: child,
    pid,
    ended,
    get alive() {
      return child.exitCode === null && child.signalCode === null;
    },
  };
}

function setprivArguments({ program, args, deathSignal, uid }: GuardedChildOptions): string[] {
  const user = uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
  return [...user, '--pdeathsig', deathSignal.slice('SIG'.length), '--', program, ...args];
}

function pidOf(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child.pid ?? 0));
    child.once('error', (cause) =>
      reject(new AppError({ code: 'internal', message: `${program} cannot be started: ${cause.message}`, cause })),
    );
  });
}

function guardByPipe(child: ChildProcess, pid: number, signal: string): void {
  const script = 'read -r _; kill -s "$0" "$1"';
  const guard = spawn('/bin/sh', ['-c', script, signal.slice('SIG'.length), String(pid)], {
    env: { PATH: environment()['PATH'] },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  guard.unref();
  // its number may belong to another process later
  child.once('exit', () => guard.kill('SIGKILL'));
}
