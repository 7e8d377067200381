import { styleText } from 'node:util';

/** Tells a person at the terminal how the start goes, on standard error: one line per step, when the step is done. */
export interface Progress {
  /** Runs a step; its line says what `done` makes of the result, and how long it took. */
  step<T>(name: string, work: () => Promise<T>, done: (result: T) => string): Promise<T>;
  /** A line out of turn. */
  note(line: string): void;
}

const NAME_WIDTH = 14;
const TEXT_WIDTH = 62;

export function createProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  const paint = (style: 'dim' | 'green' | 'red' | 'yellow', text: string) => styleText(style, text, { stream });
  const write = (line: string) => stream.write(`${line}\n`);
  const pending = (name: string) => {
    if (stream.isTTY) stream.write(`  ${paint('dim', `· ${name} …`)}`);
  };
  const clear = () => {
    if (stream.isTTY) stream.write('\r\x1b[2K');
  };
  return {
    step: async (name, work, done) => {
      const startedMs = performance.now();
      pending(name);
      try {
        const result = await work();
        const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
        clear();
        const text = done(result).padEnd(TEXT_WIDTH);
        write(
          `  ${paint('green', '✓')} ${name.padEnd(NAME_WIDTH)}${text}  ${paint('dim', `${seconds.padStart(5)} s`)}`,
        );
        return result;
      } catch (err) {
        clear();
        write(`  ${paint('red', '✗')} ${name}`);
        throw err;
      }
    },
    note: (line) => {
      clear();
      write(`  ${paint('yellow', '!')} ${line}`);
    },
  };
}
