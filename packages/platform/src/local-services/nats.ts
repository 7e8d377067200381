import { findProgram } from '../process/find-program.ts';
import { unpackDebian } from './debian-packages.ts';
import { askTcp, type ProgramRecipe } from './program-service.ts';
import type { ServiceSource } from './types.ts';

/** NATS out of PATH, else out of Debian's packages. Core only: it holds no data. */
export async function natsRecipe(from: {
  readonly logFile: string;
  readonly source: ServiceSource | undefined;
  readonly explain: (reason: string) => void;
}): Promise<ProgramRecipe | null> {
  const onPath = from.source === 'debian' ? null : findProgram('nats-server');
  const unpacked = onPath ? null : await unpackDebian('nats-server', 'usr/sbin/nats-server', from.explain);
  const program = onPath ?? unpacked?.program;
  if (program === undefined) return null;
  return {
    name: 'nats',
    source: onPath ? 'path' : 'debian',
    program,
    env: { LC_ALL: 'C', ...(unpacked ? { LD_LIBRARY_PATH: unpacked.libraryPath } : {}) },
    logFile: from.logFile,
    deathSignal: 'SIGKILL',
    gentleSignal: 'SIGTERM',
    immediateSignal: 'SIGKILL',
    urlAt: (port) => `nats://127.0.0.1:${port}`,
    prepare: () => Promise.resolve(),
    argsAt: (port) => ['--addr', '127.0.0.1', '--port', String(port)],
    answers: async (port) => (await askTcp(port, '')).startsWith('INFO '),
  };
}
