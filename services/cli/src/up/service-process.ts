import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Environment } from '@turnkeeper/platform/config';
import { type GuardedChild, type ProcessMessage, startGuarded, systemClock } from '@turnkeeper/platform/process';
import { CliError } from '../exit.ts';

export type ServiceKind = 'ingress' | 'session-worker' | 'coordinator';

export interface ServiceSpec {
  readonly kind: ServiceKind;
  /** `ingress-1` */
  readonly name: string;
  readonly env: Environment;
  /** The same service at other ports, for when one of its own was taken after it had been looked at; null: none is left. */
  readonly elsewhere: () => Promise<ServiceSpec | null>;
}

/** A service ended before it was ready. `code` = of its own error. */
export class ServiceStartError extends CliError {
  readonly code: string;

  constructor(code: string, message: string) {
    super('failed', message);
    this.code = code;
  }
}

export type Ready = Extract<ProcessMessage, { type: 'ready' }>;

/** A service that runs and has said that it is ready. */
export interface RunningService {
  readonly child: GuardedChild;
  readonly ready: Ready;
}

const READY_MS = 60_000;

/**
 * Starts a service from its sources, its output added to `<logDir>/<name>.log`, and waits until it is ready.
 * @throws ServiceStartError with the service's own sentence, or the place of its log
 */
export async function startService(spec: ServiceSpec, logDir: string): Promise<RunningService> {
  const logFile = join(logDir, `${spec.name}.log`);
  const child = await spawnService(spec, logFile);
  let fatal: Extract<ProcessMessage, { type: 'fatal' }> | null = null;
  const ready = new Promise<Ready>((resolve) => {
    child.process.on('message', (message: ProcessMessage) => {
      if (message.type === 'ready') resolve(message);
      else fatal = message;
    });
  });
  const late = new AbortController();
  const first = await Promise.race([ready, child.ended, systemClock.sleep(READY_MS, late.signal)]);
  late.abort();
  if (first && 'type' in first) return { child, ready: first };
  child.process.kill('SIGKILL');
  throw startError(
    fatal,
    `${spec.name} ${first ? 'ended before it was ready' : 'was not ready in time'}; see ${logFile}`,
  );
}

function startError(fatal: Extract<ProcessMessage, { type: 'fatal' }> | null, otherwise: string): ServiceStartError {
  return new ServiceStartError(fatal?.code ?? '', fatal?.message ?? otherwise);
}

async function spawnService(spec: ServiceSpec, logFile: string): Promise<GuardedChild> {
  const log = openSync(logFile, 'a', 0o600);
  try {
    return await startGuarded({
      program: process.execPath,
      args: [fileURLToPath(new URL(`../../../${spec.kind}/src/main.ts`, import.meta.url))],
      env: { ...spec.env, TURNKEEPER_NODE_NAME: spec.name },
      stdio: ['ignore', log, log, 'ipc'],
      deathSignal: 'SIGKILL',
    });
  } finally {
    closeSync(log);
  }
}
