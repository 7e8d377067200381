import type { Command } from 'commander';
import { registerMigrate } from './migrate.ts';

/** Every command there is; each file of this folder adds its own. */
export function registerCommands(program: Command): void {
  registerMigrate(program);
}
