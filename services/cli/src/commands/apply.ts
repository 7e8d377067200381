import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { environment } from '@turnkeeper/platform/config';
import type { Command } from 'commander';
import { type AppliedTenant, applyDocument, readDocument } from '../apply/apply-file.ts';
import { ConfigFile } from '../apply/config-file.ts';
import { showChanges } from '../apply/show-changes.ts';
import { CliError } from '../exit.ts';
import { addOutputFlag, type OutputFormat, print, printRows } from '../output.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';

interface ApplyFlags extends TargetFlags {
  readonly file: string;
  readonly allowInlineSecrets?: boolean;
  readonly dryRun?: boolean;
  readonly prune?: boolean;
  readonly output: OutputFormat;
}

/** `turnkeeper apply` */
export function registerApply(program: Command): void {
  const command = program
    .command('apply')
    .description('bring tenants, keys, agents and accounts to what a YAML file says; running it again changes nothing')
    .requiredOption('-f, --file <path>', 'the file; - reads standard input')
    .option('--dry-run', 'say what would be changed, and change nothing')
    .option('--prune', 'delete agents and accounts and revoke keys that the lists of the file do not name')
    .option('--allow-inline-secrets', 'secrets may stand in the file itself');
  addTargetFlags(addOutputFlag(command), 'operator').action(async (flags: ApplyFlags) => {
    const file = new ConfigFile(flags.file, await readText(flags.file));
    const sources = {
      environment: environment(),
      folder: flags.file === '-' ? process.cwd() : dirname(resolve(flags.file)),
      allowInline: flags.allowInlineSecrets === true,
    };
    const document = await readDocument(file, sources);
    const door = (await resolveTarget(flags)).operator();
    const { tenants, failure } = await applyDocument(
      document,
      { ...door, dryRun: flags.dryRun === true, prune: flags.prune === true },
      file,
    );
    if (failure === null || tenants.length > 0) show(tenants, flags);
    if (failure !== null) throw failure;
  });
}

function show(tenants: readonly AppliedTenant[], { output, dryRun }: ApplyFlags): void {
  if (output === 'table') for (const line of showChanges(tenants)) print(line);
  else printRows(tenants, [], output);
  if (output === 'table' && dryRun === true) print('Nothing was changed: this was a dry run.');
}

async function readText(path: string): Promise<string> {
  if (path === '-') return text(process.stdin);
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw new CliError('usage', `${path} cannot be read.`, cause);
  }
}
