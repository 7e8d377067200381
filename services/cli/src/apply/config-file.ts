import { isMap, LineCounter, type Node, parseDocument, visit } from 'yaml';
import { CliError } from '../exit.ts';

export type Path = readonly (string | number)[];

/** Something wrong at a place of the file. */
export interface Fault {
  readonly path: Path;
  readonly message: string;
}

/** What one alias may stand for, counted in what is read. */
const ALIASES_MAX = 100;
/** More would hide the first, which often is why there are others. */
const FAULTS_MAX = 50;

/** A YAML file that still knows on which line each value stands. */
export class ConfigFile {
  readonly name: string;
  readonly value: unknown;
  readonly #document: ReturnType<typeof parseDocument>;
  readonly #lines: LineCounter;

  /** @throws CliError `failed` that names each line that is no YAML */
  constructor(name: string, text: string) {
    const lines = new LineCounter();
    const document = parseDocument(text, {
      ...{ lineCounter: lines, uniqueKeys: true, prettyErrors: false, merge: true, logLevel: 'error' },
    });
    const faults = [...document.errors, ...document.warnings, ...aliasFaults(document)].map(
      ({ message, pos }) => `${name}:${lines.linePos(pos[0]).line}: ${message}`,
    );
    if (faults.length > 0) throw new CliError('failed', linesOf(faults));
    this.name = name;
    this.#document = document;
    this.#lines = lines;
    this.value = this.#read();
  }

  /** @throws CliError `failed`: aliases that make a small file a huge one */
  #read(): unknown {
    try {
      return this.#document.toJS({ maxAliasCount: ALIASES_MAX });
    } catch (cause) {
      throw new CliError('failed', `${this.name}:1: the file cannot be read: its aliases stand for too much`, cause);
    }
  }

  /** One line per fault, in the order of the file. */
  refuse(faults: readonly Fault[]): CliError {
    const told = faults
      .map(({ path, message }) => ({ line: this.lineOf(path), text: `${path.join('.') || 'the file'}: ${message}` }))
      .sort((a, b) => a.line - b.line)
      .map(({ line, text }) => `${this.name}:${line}: ${text}`);
    return new CliError('failed', linesOf([...new Set(told)]));
  }

  /** The line of a value, of its key where it has one; of what should hold it when it is missing. */
  lineOf(path: Path): number {
    for (let length = path.length; length > 0; length--) {
      const offset = this.#offsetOf(path.slice(0, length));
      if (offset !== null) return this.#lines.linePos(offset).line;
    }
    return 1;
  }

  #offsetOf(path: Path): number | null {
    const parent = path.length === 1 ? this.#document.contents : this.#document.getIn(path.slice(0, -1), true);
    const name = path.at(-1);
    if (isMap(parent)) {
      const pair = parent.items.find(({ key }) => String(key) === String(name));
      return pair ? startOf(pair.key) : null;
    }
    return startOf(this.#document.getIn(path, true));
  }
}

/** The place that a JSON pointer names. */
export function pathOf(pointer: string): Path {
  const parts = pointer.split('/').slice(1);
  return parts.map((part) => {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    return /^\d+$/.test(name) ? Number(name) : name;
  });
}

/** Aliases of nothing, and those that stand within what they name. */
function aliasFaults(document: ReturnType<typeof parseDocument>): { message: string; pos: readonly [number] }[] {
  const faults: { message: string; pos: readonly [number] }[] = [];
  visit(document, {
    Alias: (_key, alias, path) => {
      const named = alias.resolve(document);
      const pos = [startOf(alias) ?? 0] as const;
      if (named === undefined) faults.push({ message: `there is no anchor of the name ${alias.source}`, pos });
      else if (path.some((above) => above === named))
        faults.push({ message: `the alias ${alias.source} stands within what it names`, pos });
    },
  });
  return faults;
}

function linesOf(faults: readonly string[]): string {
  const more = faults.length - FAULTS_MAX;
  return [...faults.slice(0, FAULTS_MAX), ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

function startOf(node: unknown): number | null {
  const range = (node as Partial<Node> | null | undefined)?.range;
  return range ? range[0] : null;
}
