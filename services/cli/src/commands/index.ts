import type { Command } from 'commander';

type Register = (program: Command) => void;

/** What loads each command. Only the one that is asked for is loaded: most of them need little of what there is. */
const COMMANDS: Readonly<Record<string, () => Promise<Register>>> = {
  accounts: async () => (await import('./accounts.ts')).registerAccounts,
  agents: async () => (await import('./agents.ts')).registerAgents,
  apply: async () => (await import('./apply.ts')).registerApply,
  capacity: async () => (await import('./capacity.ts')).registerCapacity,
  chat: async () => (await import('./chat.ts')).registerChat,
  deliveries: async () => (await import('./deliveries.ts')).registerDeliveries,
  doctor: async () => (await import('./doctor.ts')).registerDoctor,
  events: async () => (await import('./events.ts')).registerEvents,
  explain: async () => (await import('./explain.ts')).registerExplain,
  key: async () => (await import('./key.ts')).registerKey,
  keys: async () => (await import('./keys.ts')).registerKeys,
  lanes: async () => (await import('./lanes.ts')).registerLanes,
  load: async () => (await import('./load.ts')).registerLoad,
  migrate: async () => (await import('./migrate.ts')).registerMigrate,
  partitions: async () => (await import('./partitions.ts')).registerPartitions,
  runs: async () => (await import('./runs.ts')).registerRuns,
  sessions: async () => (await import('./sessions.ts')).registerSessions,
  tail: async () => (await import('./tail.ts')).registerTail,
  tenants: async () => (await import('./tenants.ts')).registerTenants,
  up: async () => (await import('./up.ts')).registerUp,
  usage: async () => (await import('./usage.ts')).registerUsage,
  verify: async () => (await import('./verify.ts')).registerVerify,
  workers: async () => (await import('./workers.ts')).registerWorkers,
};

/** Adds the command of this name, or every command there is. */
export async function registerCommands(program: Command, name: string | undefined): Promise<void> {
  const isKnown = name !== undefined && Object.hasOwn(COMMANDS, name);
  for (const [command, load] of Object.entries(COMMANDS)) {
    if (!isKnown || command === name) (await load())(program);
  }
}
