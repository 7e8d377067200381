import { enableCompileCache } from 'node:module';

// halves the time until a command does something, from its second run on
enableCompileCache();
const { runCli } = await import('./run-cli.ts');

process.exitCode = await runCli(process.argv.slice(2));
