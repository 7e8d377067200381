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
  /** What is an id, for which the server has a door though it has none for other names. */
  readonly isId?: (name: string) => boolean;
  /** A name may mean several rows, which stand together in the list: `get` shows them all, as a list. */
  readonly namesMany?: boolean;
  /** How a name stands in a path; encoded as it is unless said otherwise. */
  readonly inPath?: (name: string) => string;
}

/** An option of `list` that becomes a query parameter. */
export interface Filter {
  readonly flag: string;
  readonly param: string;
  readonly help: string;
  /** How its value is written as a parameter; as it is unless said otherwise. */
  readonly written?: (value: string) => string;
  /** Says which thing is meant, so `get` takes it, too. */
  readonly isScope?: boolean;
}

type Flags = TargetFlags &
  Readonly<Record<string, unknown>> & { readonly output: OutputFormat; readonly limit?: number };

const PAGE_MAX = 200;
const ROWS_DEFAULT = 50;
const ROWS_MAX = 100_000;
/** Pages may be empty and still lead on: a list that is asked for few rows does not walk through all there ever was. */
const PAGES_BEYOND = 100;

/** The noun's command, for verbs of its own. */
export function registerNoun<Row>(program: Command, noun: Noun<Row>): Command {
  const command = program.command(noun.noun).description(noun.description);
  const list = command.command('list', { isDefault: true }).description(`list ${noun.noun}`);
  list.option('--limit <n>', 'rows at most', wholeNumber(1, ROWS_MAX), ROWS_DEFAULT);
  for (const filter of filtersOf(noun)) addFilter(list, filter);
  addDoor(addOutputFlag(list), noun).action((flags: Flags) => printList(noun, flags));
  const get = command.command('get').argument(`<${noun.getBy}>`).description(`show one, by its ${noun.getBy}`);
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
  printFound(noun, data, flags);
  if (hasMore && flags.output === 'table') process.stderr.write(`${dim(moreHint(data.length, flags))}\n`);
}

function printFound<Row>(noun: Noun<Row>, data: readonly unknown[], { output }: Flags): void {
  if (output !== 'table') printRows(data, [], output);
  else {
    const rows = data.map((row) => noun.row.parse(row));
    printRows(rows, noun.columns, 'table');
  }
}

function moreHint(rows: number, { limit = ROWS_DEFAULT }: Flags): string {
  return rows < limit ? 'there may be more, further back than was looked: narrow the list' : 'there are more: --limit';
}

async function readList<Row>(
  noun: Noun<Row>,
  flags: Flags,
  rowsMax: number,
): Promise<{ data: readonly unknown[]; hasMore: boolean }> {
  const data: unknown[] = [];
  let hasMore = false;
  for await (const page of pagesOf(noun, flags, rowsMax)) {
    data.push(...page.data);
    hasMore = page.nextCursor !== null;
  }
  return { data, hasMore };
}

/** Pages until there are so many rows, no more, or more pages than so many rows can need and `PAGES_BEYOND`. */
async function* pagesOf<Row>(noun: Noun<Row>, flags: Flags, rowsMax: number) {
  const door = await doorOf(noun, flags);
  let left = rowsMax;
  let pagesLeft = Math.ceil(rowsMax / PAGE_MAX) + PAGES_BEYOND;
  for (let cursor: string | null = ''; cursor !== null && left > 0 && pagesLeft > 0; pagesLeft--) {
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
  if (noun.namesMany) {
    printFound(noun, await findThings(noun, name, flags), flags);
    return;
  }
  const found =
    noun.isNamed === undefined || noun.isId?.(name) === true
      ? await readThing(noun, name, flags)
      : (await findThings(noun, name, flags))[0];
  printAnswer(found, flags.output);
}

async function readThing<Row>(noun: Noun<Row>, name: string, flags: Flags): Promise<unknown> {
  const door = await doorOf(noun, flags);
  const { inPath = encodeURIComponent } = noun;
  const query = queryOf(scopesOf(noun), flags).toString();
  return callApi({ ...door, path: `${door.path}/${inPath(name)}${query === '' ? '' : `?${query}`}` });
}

/** All rows that the name means, or the first of them. @throws CliError `failed` when it is not among those that are listed */
async function findThings<Row>(noun: Noun<Row>, name: string, flags: Flags): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const { data } of pagesOf(noun, flags, ROWS_MAX)) {
    const named = data.filter((row) => noun.isNamed?.(noun.row.parse(row), name));
    found.push(...named);
    const goesOn = noun.namesMany === true && (data.length === 0 || named.at(-1) === data.at(-1));
    if (found.length > 0 && !goesOn) break;
  }
  if (found.length === 0) throw new CliError('failed', `No such ${noun.getBy} among the ${noun.noun}.`);
  return found;
}

/** Prints what a command was answered, every field of it. */
export function printAnswer(answer: unknown, format: OutputFormat): void {
  const thing = z.looseObject({}).parse(answer);
  printOne(thing, detailsOf(thing), format);
}

/** One line per leaf, named by its way there. */
function detailsOf(thing: Readonly<Record<string, unknown>>): Column<unknown>[] {
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
  for (const { flag, param, written = String } of filters) {
    const name = flag.replace(/^--/, '').split(' ')[0] ?? '';
    const value = flags[name.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())];
    if (value !== undefined) query.set(param, written(String(value)));
  }
  return query;
}
