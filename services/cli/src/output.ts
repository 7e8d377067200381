import { styleText } from 'node:util';
import Table from 'cli-table3';
import { type Command, Option } from 'commander';

export type OutputFormat = 'table' | 'json' | 'ndjson';

/** One column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly of: (row: Row) => string | number | boolean | null | undefined;
  /** Numbers stand right. */
  readonly right?: boolean;
}

/** Adds `--output`; the command's options then hold `output`. */
export function addOutputFlag(command: Command): Command {
  const words: OutputFormat[] = ['table', 'json', 'ndjson'];
  return command.addOption(new Option('--output <format>', 'how to print').choices(words).default('table'));
}

/** Prints rows for people (`columns`) or the whole rows for programs. */
export function printRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], format: OutputFormat): void {
  if (format === 'ndjson') for (const row of rows) print(JSON.stringify(row));
  else if (format === 'json') print(JSON.stringify(rows, null, 2));
  else if (rows.length === 0) print(dim('nothing'));
  else print(tableOf(rows, columns));
}

/** Prints one thing: its columns below each other, or the whole as JSON. */
export function printOne<Row>(row: Row, columns: readonly Column<Row>[], format: OutputFormat): void {
  if (format === 'table') {
    const width = Math.max(...columns.map(({ title }) => title.length));
    print(columns.map((column) => `${dim(column.title.padEnd(width))}  ${cell(column, row)}`).join('\n'));
  } else {
    print(JSON.stringify(row, null, format === 'json' ? 2 : undefined));
  }
}

/** A line on standard output. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Colours only where a terminal shows them (and NO_COLOR is unset). */
export function paint(style: Parameters<typeof styleText>[0], text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

export function dim(text: string): string {
  return paint('dim', text);
}

function tableOf<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  const table = new Table({
    head: columns.map(({ title }) => dim(title)),
    colAligns: columns.map(({ right }) => (right ? 'right' : 'left')),
    chars: NO_LINES,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...rows.map((row) => columns.map((column) => cell(column, row))));
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

function cell<Row>(column: Column<Row>, row: Row): string {
  const value = column.of(row);
  return value === null || value === undefined || value === '' ? dim('–') : String(value);
}

const NO_LINES = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '' },
  ...{ 'bottom-right': '', left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
};
