import type { Command } from 'commander';
import { dataDirOf } from '../target.ts';
import { runUp } from '../up/run-up.ts';
import { wholeNumber } from './arguments.ts';

interface UpFlags {
  readonly ingress: number;
  readonly workers: number;
  readonly coordinators: number;
  readonly port?: number;
  readonly data?: string;
  readonly json?: boolean;
}

const PROCESSES_MAX = 64;

/** `turnkeeper up` */
export function registerUp(program: Command): void {
  program
    .command('up')
    .description('run a whole cluster on this machine until Ctrl-C; nothing needs to be installed')
    .option('--ingress <n>', 'ingress processes', wholeNumber(1, PROCESSES_MAX), 1)
    .option('--workers <n>', 'session-worker processes', wholeNumber(0, PROCESSES_MAX), 2)
    .option('--coordinators <n>', 'coordinator processes', wholeNumber(0, PROCESSES_MAX), 2)
    .option('--port <port>', 'public port (default: 8420, or the next free one)', wholeNumber(1, 65_535))
    .option('--data <folder>', 'where data, keys and logs are kept (default: .data of this checkout)')
    .option('--json', 'print what runs where as one line of JSON')
    .action((flags: UpFlags) =>
      runUp({
        ingress: flags.ingress,
        workers: flags.workers,
        coordinators: flags.coordinators,
        port: flags.port,
        dataDir: dataDirOf(flags.data),
        json: flags.json ?? false,
      }),
    );
}
