/**
 * Command lines one after the other in a process that stays: each has its own arguments, environment, input and output,
 * and what they load is loaded once. What hangs on the process itself is for tests that start one.
 */
import { Readable } from 'node:stream';

interface CommandLine {
  readonly args: readonly string[];
  readonly input: string;
  readonly env: Readonly<Record<string, string>>;
}

const program = new URL('../../../services/cli/src/run-cli.ts', import.meta.url).href;
const { runCli }: { runCli(args: readonly string[]): Promise<number> } = await import(program);

let before: Promise<void> = Promise.resolve();
process.on('message', (line: CommandLine) => {
  before = before.then(() => answer(line));
});
process.on('disconnect', () => process.exit(0));

async function answer({ args, input, env }: CommandLine): Promise<void> {
  const heard = { out: '', err: '' };
  process.env = { ...env };
  process.exitCode = undefined;
  Object.defineProperty(process, 'stdin', { value: Readable.from([input]), configurable: true });
  process.stdout.write = (text) => keep(heard, 'out', text);
  process.stderr.write = (text) => keep(heard, 'err', text);
  const code = await runCli(args);
  process.send?.({ code, ...heard });
}

function keep(heard: { out: string; err: string }, stream: 'out' | 'err', text: string | Uint8Array): boolean {
  heard[stream] += typeof text === 'string' ? text : Buffer.from(text).toString('utf8');
  return true;
}
