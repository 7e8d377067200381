import { mkdir } from 'node:fs/promises';
import { findProgram } from '../process/find-program.ts';
import { unpackDebian } from './debian-packages.ts';
import { askTcp, type ProgramRecipe } from './program-service.ts';
import type { ServiceSource } from './types.ts';

/** Redis out of PATH, else out of Debian's packages. Its password keeps other users of the machine out. */
export async function redisRecipe(from: {
  readonly dataDir: string;
  readonly logFile: string;
  readonly password: string;
  readonly persistent: boolean;
  readonly source: ServiceSource | undefined;
  readonly explain: (reason: string) => void;
}): Promise<ProgramRecipe | null> {
  const onPath = from.source === 'debian' ? null : (findProgram('redis-server') ?? findProgram('valkey-server'));
  const unpacked = onPath ? null : await unpackDebian('redis-server', 'usr/bin/redis-server', from.explain);
  const program = onPath ?? unpacked?.program;
  if (program === undefined) return null;
  const settings = (port: number) =>
    [
      ...[`port ${port}`, 'bind 127.0.0.1', `requirepass ${from.password}`, `dir ${from.dataDir}`, 'daemonize no'],
      ...['maxmemory-policy noeviction', 'save ""'],
      ...(from.persistent ? ['appendonly yes', 'appendfsync everysec'] : ['appendonly no']),
    ].join('\n');
  return {
    name: 'redis',
    source: onPath ? 'path' : 'debian',
    program,
    env: { LC_ALL: 'C', ...(unpacked ? { LD_LIBRARY_PATH: unpacked.libraryPath } : {}) },
    logFile: from.logFile,
    deathSignal: 'SIGKILL',
    gentleSignal: 'SIGTERM',
    immediateSignal: 'SIGKILL',
    urlAt: (port) => `redis://:${from.password}@127.0.0.1:${port}`,
    prepare: async () => {
      await mkdir(from.dataDir, { recursive: true, mode: 0o700 });
    },
    argsAt: () => ['-'],
    inputAt: settings,
    answers: async (port) => (await askTcp(port, `AUTH ${from.password}\r\nPING\r\n`)).includes('+PONG'),
  };
}
