import { formatId, type Violation } from '@turnkeeper/core';
import { checkInvariants, openDatabase } from '@turnkeeper/storage';
import { type Command, InvalidArgumentError } from 'commander';
import { CliError } from '../exit.ts';
import { dim, paint, print, printRows } from '../output.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';

const STATEMENT_MS = 120_000;
const SUBJECTS = { events: 'evt', turns: 'trn', messages: 'msg', lanes: null } as const;

/** `turnkeeper verify` */
export function registerVerify(program: Command): void {
  const command = program
    .command('verify')
    .description('judge the promises P1 to P6 from the rows of a live database; changes nothing')
    .option('--since <time>', 'look at rows from this moment on (ISO 8601)', readTime, new Date(0))
    .option('--json', 'print the verdict as one line of JSON');
  addTargetFlags(command, 'database').action(async (flags: TargetFlags & { since: Date; json?: boolean }) => {
    const database = openDatabase({
      url: (await resolveTarget(flags)).postgresUrl(),
      role: 'tk_sweep',
      poolMax: 1,
      applicationName: 'turnkeeper-verify',
      settings: { statement_timeout: STATEMENT_MS, default_transaction_read_only: 'on' },
    });
    try {
      const report = await checkInvariants(database, flags.since);
      const violations = report.violations.map((one) => ({
        ...one,
        tenantId: formatId('ten', one.tenantId),
        subject: subjectOf(one),
      }));
      if (flags.json === true) print(JSON.stringify({ checked: report.checked, violations }));
      else show(report.checked, violations);
      if (violations.length > 0) throw new CliError('verdict', 'The rows break a promise.');
    } finally {
      await database.close();
    }
  });
}

type Shown = Pick<Violation, 'promise' | 'detail' | 'subject'> & { readonly tenantId: string };

function show(checked: number, violations: readonly Shown[]): void {
  if (violations.length === 0) {
    print(`${paint('green', 'No violation')} ${dim(`in ${checked} events`)}`);
    return;
  }
  printRows(
    violations,
    [
      { title: 'promise', of: (row) => row.promise },
      { title: 'found', of: (row) => row.detail },
      { title: 'tenant', of: (row) => row.tenantId },
      { title: 'subject', of: (row) => row.subject },
    ],
    'table',
  );
}

/** Lanes have no public id: theirs stays a UUID. */
function subjectOf({ subjectKind, subject }: Violation): string {
  const prefix = SUBJECTS[subjectKind];
  return prefix === null ? subject : formatId(prefix, subject);
}

function readTime(text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new InvalidArgumentError('It must be a time like 2026-01-31T12:00:00Z.');
  return time;
}
