import type { Command } from 'commander';
import { registerDoctor } from './doctor.ts';
import { registerKey } from './key.ts';
import { registerLoad } from './load.ts';
import { registerMigrate } from './migrate.ts';
import { registerUp } from './up.ts';
import { registerVerify } from './verify.ts';

/** Every command there is; each file of this folder adds its own. */
export function registerCommands(program: Command): void {
  registerDoctor(program);
  registerKey(program);
  registerLoad(program);
  registerMigrate(program);
  registerUp(program);
  registerVerify(program);
}
