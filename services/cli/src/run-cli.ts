import { Command, CommanderError } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { registerCommands } from './commands/index.ts';
import { EXIT, exitCodeOf, sentenceOf } from './exit.ts';

/** Runs one command line and resolves with its exit code. What went wrong is one sentence on standard error. */
export async function runCli(args: readonly string[]): Promise<number> {
  const program = new Command('turnkeeper')
    .description('One conversation, one turn at a time, in order, durable.')
    .version(manifest.version)
    .exitOverride()
    .showHelpAfterError('(--help shows what there is)')
    .configureHelp({ sortSubcommands: true });
  try {
    await registerCommands(program, args[0]);
    await program.parseAsync(args, { from: 'user' });
    return Number(process.exitCode ?? EXIT.ok);
  } catch (err) {
    // commander has already said what is wrong
    if (err instanceof CommanderError) return err.exitCode === 0 ? EXIT.ok : EXIT.usage;
    process.stderr.write(`${sentenceOf(err)}\n`);
    return exitCodeOf(err);
  }
}
