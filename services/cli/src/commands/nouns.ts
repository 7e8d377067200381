import type { Command } from 'commander';
import { z } from 'zod';
import { callApi } from '../api.ts';
import { CliError } from '../exit.ts';
import { addOutputFlag, type Column, dim, type OutputFormat, printOne, printRows } from '../output.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { wholeNumber } from './arguments.ts';

/** A thing that the server lists: `turnkeeper <noun> list|get`; a bare noun lists. */
export interface Noun<Row> {
  readonly noun: string;
  readonly description: string;
  /** Whose door: the tenant's, the operators', or the tenant's unless `--tenant` names one to an operator. */
  readonly door: 'tenant' | 'operator' | 'either';
  /** Below `/v1` or `/admin/v1`. */
  readonly path: string;
  readonly row: z.ZodType<Row>;
  readonly columns: readonly Column<Row>[];
  readonly filters?: readonly Filter[];
  /** What `get` takes. */
  readonly getBy: string;
  /** Where the server has no door for one of them, `get` looks through the list. */
  readonly isNamed?: (row: Row, name: string) => boolean;
  /** How a name stands in a path; encoded as it is unless said otherwise. */
  readonly inPath?: (name: string) => string;
}

/** An option of `list` that becomes a query parameter. */
export interface Filter {
  readonly flag: string;
  readonly param: string;
  readonly help: string;
  /** Says which thing is meant, so `get` takes it, too. */
  readonly isScope?: boolean;
}

type Flags = TargetFlags &
  Readonly<Record<string, unknown>> & { readonly output: OutputFormat; readonly limit?: number };

const PAGE_MAX = 200;
const ROWS_DEFAULT = 50;
const ROWS_MAX = 100_000;

/** The noun's command, for verbs of its own. */
export function registerNoun<Row>(program: Command, noun: Noun<Row>): Command {
  const command = program.command(noun.noun).description(noun.description);
  const list = command.command('list', { isDefault: true }).description(`list ${noun.noun}`);
  list.option('--limit <n>', 'rows at most', wholeNumber(1, ROWS_MAX), ROWS_DEFAULT);
  for (const filter of filtersOf(noun)) addFilter(list, filter);
  addDoor(addOutputFlag(list), noun).action((flags: Flags) => printList(noun, flags));
  const get = command.command('get').argument(`<${noun.getBy}>`).description(`show one of the ${noun.noun}`);
  for (const filter of noun.isNamed === undefined ? scopesOf(noun) : filtersOf(noun)) addFilter(get, filter);
  addDoor(addOutputFlag(get), noun).action((name: string, flags: Flags) => printThing(noun, name, flags));
  return command;
}

const TENANT: Filter = {
  flag: '--tenant <name>',
  param: 'tenant',
  help: 'of this tenant (as an operator)',
  isScope: true,
};

function filtersOf<Row>({ door, filters = [] }: Noun<Row>): readonly Filter[] {
  return door === 'either' ? [...filters, TENANT] : filters;
}

function scopesOf<Row>(noun: Noun<Row>): readonly Filter[] {
  return filtersOf(noun).filter(({ isScope }) => isScope === true);
}

function addFilter(command: Command, { flag, help }: Filter): void {
  command.option(flag, help);
}

function addDoor<Row>(command: Command, { door }: Noun<Row>): Command {
  if (door === 'either') return addTargetFlags(command, 'tenant', 'operator');
  return addTargetFlags(command, door);
}

const PageSchema = z.looseObject({ data: z.array(z.unknown()), nextCursor: z.string().nullable() });

async function printList<Row>(noun: Noun<Row>, flags: Flags): Promise<void> {
  const { data, hasMore } = await readList(noun, flags, flags.limit ?? ROWS_DEFAULT);
  if (flags.output === 'table')
    printRows(
      data.map((row) => noun.row.parse(row)),
      noun.columns,
      'table',
    );
  else printRows(data, [], flags.output);
  if (hasMore && flags.output === 'table') process.stderr.write(`${dim('there are more: --limit')}\n`);
}

async function readList<Row>(
  noun: Noun<Row>,
  flags: Flags,
  rowsMax: number,
): Promise<{ data: readonly unknown[]; hasMore: boolean }> {
  const data: unknown[] = [];
  for await (const page of pagesOf(noun, flags, rowsMax)) {
    data.push(...page.data);
    if (page.nextCursor !== null && data.length >= rowsMax) return { data, hasMore: true };
  }
  return { data, hasMore: false };
}

async function* pagesOf<Row>(noun: Noun<Row>, flags: Flags, rowsMax: number) {
  const door = await doorOf(noun, flags);
  let left = rowsMax;
  for (let cursor: string | null = ''; cursor !== null && left > 0; ) {
    const query = queryOf(filtersOf(noun), flags);
    query.set('limit', String(Math.min(PAGE_MAX, left)));
    if (cursor !== '') query.set('cursor', cursor);
    const page = PageSchema.parse(await callApi({ ...door, path: `${door.path}?${query}` }));
    yield page;
    left -= page.data.length;
    cursor = page.nextCursor;
  }
}

async function printThing<Row>(noun: Noun<Row>, name: string, flags: Flags): Promise<void> {
  const found = noun.isNamed === undefined ? await readThing(noun, name, flags) : await findThing(noun, name, flags);
  const thing = z.looseObject({}).parse(found);
  printOne(thing, detailsOf(thing), flags.output);
}

async function readThing<Row>(noun: Noun<Row>, name: string, flags: Flags): Promise<unknown> {
  const door = await doorOf(noun, flags);
  const { inPath = encodeURIComponent } = noun;
  const query = queryOf(scopesOf(noun), flags).toString();
  return callApi({ ...door, path: `${door.path}/${inPath(name)}${query === '' ? '' : `?${query}`}` });
}

/** @throws CliError `failed` when it is not among those that are listed */
async function findThing<Row>(noun: Noun<Row>, name: string, flags: Flags): Promise<unknown> {
  for await (const { data } of pagesOf(noun, flags, ROWS_MAX)) {
    const thing = data.find((row) => noun.isNamed?.(noun.row.parse(row), name));
    if (thing !== undefined) return thing;
  }
  throw new CliError('failed', `No such ${noun.getBy} among the ${noun.noun}.`);
}

/** One line per leaf, named by its way there. */
export function detailsOf(thing: Readonly<Record<string, unknown>>): Column<unknown>[] {
  return leavesOf(thing, '').map(([title, value]) => ({ title, of: () => value }));
}

function leavesOf(value: unknown, title: string): [string, string][] {
  if (typeof value !== 'object' || value === null) return [[title, value === null ? '' : String(value)]];
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return [[title, value.join(' ')]];
  return Object.entries(value).flatMap(([name, item]) => leavesOf(item, title === '' ? name : `${title}.${name}`));
}

async function doorOf<Row>({ door, path }: Noun<Row>, flags: Flags) {
  const target = await resolveTarget(flags);
  const asOperator = door === 'operator' || (door === 'either' && flags['tenant'] !== undefined);
  return asOperator ? { ...target.operator(), path: `/admin/v1${path}` } : { ...target.tenant(), path: `/v1${path}` };
}

function queryOf(filters: readonly Filter[], flags: Flags): URLSearchParams {
  const query = new URLSearchParams();
  for (const { flag, param } of filters) {
    const name = flag.replace(/^--/, '').split(' ')[0] ?? '';
    const value = flags[name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    if (value !== undefined) query.set(param, String(value));
  }
  return query;
}
