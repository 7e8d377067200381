import type { Command } from 'commander';
import { checkCluster } from '../doctor/check-cluster.ts';
import { checkDisk, checkNode } from '../doctor/check-machine.ts';
import { checkNats, checkPostgres, checkRedis } from '../doctor/check-stores.ts';
import type { Finding } from '../doctor/finding.ts';
import { CliError } from '../exit.ts';
import { addOutputFlag, type Column, type OutputFormat, paint, printRows } from '../output.ts';
import { addTargetFlags, dataDirOf, resolveTarget, type Target, type TargetFlags } from '../target.ts';

const MARKS = {
  ok: ['green', '✓'],
  warn: ['yellow', '!'],
  bad: ['red', '✗'],
  unknown: ['dim', '?'],
} as const satisfies Record<Finding['state'], readonly [string, string]>;

const COLUMNS: readonly Column<Finding>[] = [
  { title: '', of: ({ state }) => paint(MARKS[state][0], MARKS[state][1]) },
  { title: 'what', of: ({ name }) => name },
  { title: 'found', of: ({ found }) => found },
  { title: 'what to do', of: ({ advice }) => advice ?? ' ' },
];

/** `turnkeeper doctor` */
export function registerDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('look at this machine, the stores and the cluster, and say what to do');
  addOutputFlag(addTargetFlags(command, 'operator', 'database')).action(
    async (flags: TargetFlags & { output: OutputFormat }) => {
      const target = await resolveTarget(flags);
      const findings = await examine(target, dataDirOf(flags.data));
      printRows(findings, COLUMNS, flags.output);
      const bad = findings.filter(({ state }) => state === 'bad');
      if (bad.length > 0) throw new CliError('failed', `Not well: ${bad.map(({ name }) => name).join(', ')}.`);
      if (findings.some(({ name, state }) => name === 'cluster' && state === 'unknown'))
        throw new CliError('unreachable', 'No cluster was found to look at.');
    },
  );
}

async function examine(target: Target, dataDir: string): Promise<Finding[]> {
  const postgresUrl = known(() => target.postgresUrl());
  const found = await Promise.all([
    checkNode(process.version),
    checkDisk(dataDir),
    postgresUrl === null ? NO_DATABASE : checkPostgres(postgresUrl),
    checkRedis(target.stores.redisUrl),
    checkNats(target.stores.natsUrl),
    checkCluster(known(() => target.operator())),
  ]);
  return found.flat();
}

const NO_DATABASE: Finding = {
  name: 'Postgres',
  state: 'unknown',
  found: 'address not known',
  advice: 'set TURNKEEPER_POSTGRES_URL, or start with: npm start',
};

/** A target that is not known is a finding here, not the end. */
function known<T>(look: () => T): T | null {
  try {
    return look();
  } catch (err) {
    if (err instanceof CliError) return null;
    throw err;
  }
}
