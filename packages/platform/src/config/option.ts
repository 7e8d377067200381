/** The kinds of configuration values a process may have. Each reads one text and says in words what it wanted. */

/** One row of a configuration table. */
export interface ConfigOption<T> {
  /** Name of the environment variable. */
  readonly env: string;
  /** What the value may be, for people: `whole number, 1–65535`. */
  readonly kind: string;
  readonly unit: string | null;
  readonly help: string;
  /** Never printed; `<env>_FILE` may name a file that holds it. */
  readonly secret: boolean;
  /** The default as it would be written; null = must be given (or, for optional values, stays unset). */
  readonly fallback: string | null;
  /** False: unset stays `undefined`. */
  readonly required: boolean;
  /** The value, or what is wrong with the text. */
  read(text: string): { readonly value: T } | { readonly wrong: string };
  /** The value as it may be printed. */
  show(value: T): string;
}

/** A process's configuration, by the names its code uses. */
export interface ConfigTable<Options extends Record<string, ConfigOption<unknown>>> {
  /** Heading in the documentation. */
  readonly title: string;
  readonly options: Options;
}

/** The frozen object that a table yields. */
export type ConfigOf<Table> =
  Table extends ConfigTable<infer Options>
    ? { readonly [Name in keyof Options]: Options[Name] extends ConfigOption<infer Value> ? Value : never }
    : never;

interface Common {
  readonly env: string;
  readonly help: string;
}

/** A table of options. `title` heads its part of `docs/configuration.md`. */
export function defineConfig<Options extends Record<string, ConfigOption<unknown>>>(
  title: string,
  options: Options,
): ConfigTable<Options> {
  return Object.freeze({ title, options: Object.freeze(options) });
}

/** A whole number within bounds; put the unit into the option's name, too. */
export function integer(
  row: Common & { readonly default: number; readonly min: number; readonly max: number; readonly unit?: string },
): ConfigOption<number> {
  const kind = `whole number, ${row.min}–${row.max}`;
  return {
    ...plain(row, kind),
    unit: row.unit ?? null,
    fallback: String(row.default),
    read: (text) => {
      const value = Number(text);
      const fits = /^-?\d+$/.test(text) && value >= row.min && value <= row.max;
      return fits ? { value } : { wrong: `must be a ${kind}` };
    },
    show: String,
  };
}

/** A text. Without default it must be given. */
export function text(
  row: Common & { readonly default?: string; readonly pattern?: RegExp; readonly kind?: string },
): ConfigOption<string> {
  return {
    ...plain(row, row.kind ?? 'text'),
    fallback: row.default ?? null,
    read: readText(row),
    show: (value) => value,
  };
}

/** A text that may stay away. */
export function optionalText(
  row: Common & { readonly pattern?: RegExp; readonly kind?: string },
): ConfigOption<string | undefined> {
  return { ...plain(row, row.kind ?? 'text'), required: false, read: readText(row), show: (value) => value ?? '' };
}

/** A text that is never printed and may come from a file. */
export function secret(row: Common & { readonly pattern?: RegExp; readonly kind?: string }): ConfigOption<string> {
  return { ...text(row), secret: true, show: () => HIDDEN };
}

/** A secret that may stay away. */
export function optionalSecret(
  row: Common & { readonly pattern?: RegExp; readonly kind?: string },
): ConfigOption<string | undefined> {
  return { ...optionalText(row), secret: true, show: () => HIDDEN };
}

/** A URL of one of these schemes (`['http:', 'https:']`). May hold a password, so it may come from a file; printed without it. */
export function url(
  row: Common & { readonly schemes: readonly string[]; readonly default?: string },
): ConfigOption<string> {
  const kind = `URL (${row.schemes.map((scheme) => `${scheme}//`).join(', ')})`;
  return {
    ...plain(row, kind),
    secret: true,
    fallback: row.default ?? null,
    read: (given) => {
      const parsed = URL.canParse(given) ? new URL(given) : null;
      return parsed && row.schemes.includes(parsed.protocol) ? { value: given } : { wrong: `must be a ${kind}` };
    },
    show: hidePassword,
  };
}

/** A URL that may stay away. */
export function optionalUrl(row: Common & { readonly schemes: readonly string[] }): ConfigOption<string | undefined> {
  const given = url(row);
  return { ...given, required: false, show: (value) => (value === undefined ? '' : given.show(value)) };
}

/** One of a few words. */
export function choice<const Word extends string>(
  row: Common & { readonly words: readonly Word[]; readonly default: Word },
): ConfigOption<Word> {
  const kind = row.words.map((word) => `\`${word}\``).join(', ');
  return {
    ...plain(row, kind),
    fallback: row.default,
    read: (given) => {
      const value = row.words.find((word) => word === given);
      return value === undefined ? { wrong: `must be one of ${row.words.join(', ')}` } : { value };
    },
    show: (value) => value,
  };
}

/** A list with commas between; empty parts are dropped. `check` says what is wrong with one part, or null. */
export function list(
  row: Common & {
    readonly default?: string;
    readonly kind?: string;
    readonly check?: (part: string) => string | null;
  },
): ConfigOption<readonly string[]> {
  return {
    ...plain(row, row.kind ?? 'list with commas'),
    fallback: row.default ?? '',
    read: (given) => {
      const parts = given.split(',').map((part) => part.trim());
      const value = Object.freeze(parts.filter((part) => part !== ''));
      const wrong = value.map((part) => row.check?.(part) ?? null).find((said) => said !== null);
      return wrong === undefined ? { value } : { wrong };
    },
    show: (value) => value.join(','),
  };
}

const HIDDEN = '(hidden)';

function plain(row: Common, kind: string) {
  return { env: row.env, help: row.help, kind, unit: null, secret: false, required: true, fallback: null };
}

function readText(row: { readonly pattern?: RegExp; readonly kind?: string }) {
  return (given: string) =>
    row.pattern && !row.pattern.test(given)
      ? { wrong: `must be ${row.kind ?? `a text like ${row.pattern.source}`}` }
      : { value: given };
}

function hidePassword(given: string): string {
  const parsed = new URL(given);
  if (parsed.password !== '') parsed.password = 'hidden';
  return parsed.toString();
}
