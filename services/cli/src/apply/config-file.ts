import { isMap, LineCounter, type Node, parseDocument } from 'yaml';
import { CliError } from '../exit.ts';

export type Path = readonly (string | number)[];

/** Something wrong at a place of the file. */
export interface Fault {
  readonly path: Path;
  readonly message: string;
}

/** A YAML file that still knows on which line each value stands. */
export class ConfigFile {
  readonly name: string;
  readonly value: unknown;
  readonly #document: ReturnType<typeof parseDocument>;
  readonly #lines: LineCounter;

  /** @throws CliError `failed` that names each line that is no YAML */
  constructor(name: string, text: string) {
    const lines = new LineCounter();
    const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false });
    const faults = [...document.errors, ...document.warnings].map(
      ({ message, pos }) => `${name}:${lines.linePos(pos[0]).line}: ${message}`,
    );
    if (faults.length > 0) throw new CliError('failed', faults.join('\n'));
    this.name = name;
    this.value = document.toJS();
    this.#document = document;
    this.#lines = lines;
  }

  /** One line per fault, in the order of the file. */
  refuse(faults: readonly Fault[]): CliError {
    const told = faults
      .map(({ path, message }) => ({ line: this.lineOf(path), text: `${path.join('.') || 'the file'}: ${message}` }))
      .sort((a, b) => a.line - b.line)
      .map(({ line, text }) => `${this.name}:${line}: ${text}`);
    return new CliError('failed', [...new Set(told)].join('\n'));
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

function startOf(node: unknown): number | null {
  const range = (node as Partial<Node> | null | undefined)?.range;
  return range ? range[0] : null;
}
