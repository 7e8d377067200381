import type { Command } from 'commander';
import { registerAccounts } from './accounts.ts';
import { registerAgents } from './agents.ts';
import { registerApply } from './apply.ts';
import { registerChat } from './chat.ts';
import { registerDoctor } from './doctor.ts';
import { registerEvents } from './events.ts';
import { registerExplain } from './explain.ts';
import { registerKey } from './key.ts';
import { registerKeys } from './keys.ts';
import { registerLanes } from './lanes.ts';
import { registerLoad } from './load.ts';
import { registerMigrate } from './migrate.ts';
import { registerPartitions } from './partitions.ts';
import { registerRuns } from './runs.ts';
import { registerSessions } from './sessions.ts';
import { registerTenants } from './tenants.ts';
import { registerUp } from './up.ts';
import { registerVerify } from './verify.ts';
import { registerWorkers } from './workers.ts';

/** Every command there is; each file of this folder adds its own. */
export function registerCommands(program: Command): void {
  registerDoctor(program);
  registerKey(program);
  registerLoad(program);
  registerMigrate(program);
  registerUp(program);
  registerVerify(program);
  registerAccounts(program);
  registerAgents(program);
  registerApply(program);
  registerChat(program);
  registerEvents(program);
  registerExplain(program);
  registerKeys(program);
  registerLanes(program);
  registerPartitions(program);
  registerRuns(program);
  registerSessions(program);
  registerTenants(program);
  registerWorkers(program);
}
