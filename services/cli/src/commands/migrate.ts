import { migrate } from '@turnkeeper/storage';
import type { Command } from 'commander';
import { dim, print } from '../output.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { wholeNumber } from './arguments.ts';

/** `turnkeeper migrate` */
export function registerMigrate(program: Command): void {
  const command = program
    .command('migrate')
    .description('bring a database to the schema of this program; repeating it does nothing')
    .option('--partitions <n>', 'partitions of a new database', wholeNumber(1, 4096), 16);
  addTargetFlags(command, 'database').action(async (flags: TargetFlags & { partitions: number }) => {
    const { postgresUrl } = await resolveTarget(flags);
    const { version, applied } = await migrate({ url: postgresUrl(), partitions: flags.partitions });
    for (const name of applied) print(`${dim('applied')} ${name}`);
    print(`The database has schema ${version}.`);
  });
}
