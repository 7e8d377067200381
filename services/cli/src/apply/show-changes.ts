import type { ConfigChange } from '@turnkeeper/protocol';
import { dim, paint } from '../output.ts';
import type { AppliedTenant } from './apply-file.ts';

/** What a run of `apply` did: what is new, what changed from what to what, and how much stayed. */
export function showChanges(applied: readonly AppliedTenant[]): string[] {
  const lines = applied.flatMap(({ tenant, changes }) => {
    const told = changes.filter(({ result }) => result !== 'unchanged').flatMap(linesOf);
    return told.length === 0 ? [] : [paint('bold', tenant), ...told];
  });
  return [...lines, summaryOf(applied.flatMap(({ changes }) => changes))];
}

const MARKS: Readonly<Record<ConfigChange['result'], string>> = {
  created: paint('green', '+'),
  updated: paint('yellow', '~'),
  unchanged: ' ',
  deleted: paint('red', '-'),
};

function linesOf({ kind, name, result, version, secret, fields }: ConfigChange): string[] {
  const isNew = result === 'created';
  const mark = MARKS[result];
  const head = `  ${mark} ${kind} ${name}${version === undefined ? '' : dim(` v${version}`)}`;
  const shown = secret === undefined ? [] : [`      ${paint('bold', secret)}  ${dim('shown this once')}`];
  return [head, ...shown, ...fields.flatMap((field) => fieldLines(field, isNew))];
}

function fieldLines(field: ConfigChange['fields'][number], isNew: boolean): string[] {
  const name = field.pointer.slice(1).replaceAll('/', '.');
  const isSecret = !('before' in field) && !('after' in field);
  if (isSecret) return [`      ${name}: ${dim(isNew ? '(secret)' : '(another secret)')}`];
  // of what is new only what is there is worth a line
  if (isNew)
    return field.after === null || field.after === false ? [] : [`      ${name}: ${JSON.stringify(field.after)}`];
  const lines: string[] = [];
  if ('before' in field) lines.push(`    ${paint('red', `- ${name}: ${JSON.stringify(field.before)}`)}`);
  if ('after' in field) lines.push(`    ${paint('green', `+ ${name}: ${JSON.stringify(field.after)}`)}`);
  return lines;
}

function summaryOf(changes: readonly ConfigChange[]): string {
  const count = (result: ConfigChange['result']) => changes.filter((change) => change.result === result).length;
  const gone = count('deleted') === 0 ? '' : `, ${count('deleted')} deleted`;
  return dim(`${count('created')} created, ${count('updated')} updated, ${count('unchanged')} unchanged${gone}`);
}
