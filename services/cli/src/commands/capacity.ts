import type { Command } from 'commander';
import { MEASURED } from '../capacity/costs.ts';
import { type Demand, type Plan, planCapacity } from '../capacity/plan.ts';
import { addOutputFlag, type Column, type OutputFormat, printOne } from '../output.ts';
import { number, wholeNumber } from './arguments.ts';

const COLUMNS: readonly Column<Plan>[] = [
  { title: 'messages a second, mean', of: ({ messagesPerSecond }) => messagesPerSecond.mean.toFixed(1) },
  { title: 'messages a second, peak', of: ({ messagesPerSecond }) => messagesPerSecond.peak.toFixed(1) },
  { title: 'turns in flight at the peak', of: ({ turnsInFlight }) => turnsInFlight },
  { title: 'ingress', of: ({ ingress, cores }) => `${ingress} (${cores.ingress.toFixed(1)} cores)` },
  {
    title: 'session-workers',
    of: ({ workers, cores, workerMegabytes }) =>
      `${workers} (${cores.worker.toFixed(1)} cores), ${workerMegabytes} MB each`,
  },
  { title: 'coordinators', of: ({ coordinators }) => coordinators },
  { title: 'partitions', of: ({ partitions }) => partitions },
  {
    title: 'Postgres',
    of: ({ cores, databaseConnections, databaseGigabytes }) =>
      `${cores.postgres.toFixed(1)} cores, ${databaseConnections} connections, ${databaseGigabytes.toFixed(1)} GB`,
  },
  { title: 'Redis', of: ({ cores }) => `${cores.redis.toFixed(1)} cores` },
  { title: 'one database', of: ({ beyondOneDatabase }) => (beyondOneDatabase ? 'no: see docs/scaling.md' : 'enough') },
];

/** `turnkeeper capacity` */
export function registerCapacity(program: Command): void {
  const command = program
    .command('capacity')
    .description('how many nodes, cores and gigabytes a number of tenants needs; asks no cluster')
    .option('--tenants <number>', 'tenants', wholeNumber(1, 10_000_000), 2_000)
    .option('--lanes <number>', 'conversations of a tenant', wholeNumber(0, 10_000_000), 500)
    .option('--messages <number>', 'messages that a tenant gets on a day', wholeNumber(0, 100_000_000), 1_000)
    .option('--peak <factor>', 'the busiest hour, as a multiple of the mean one', number(1, 100), 5)
    .option('--turn-seconds <seconds>', 'how long an agent takes, on the mean', number(0, 86_400), 10)
    .option('--keep-days <days>', 'how long transcripts are kept', wholeNumber(1, 36_500), 365)
    .option('--worker-slots <number>', 'turns that one worker may run at once', wholeNumber(1, 100_000), 2_000);
  addOutputFlag(command).action((flags: Flags) => {
    const { tenants, lanes, messages, peak, turnSeconds, keepDays, workerSlots } = flags;
    const demand: Demand = {
      ...{ tenants, turnSeconds, keepDays, workerSlots },
      ...{ lanesPerTenant: lanes, messagesPerTenantDay: messages, peakFactor: peak },
    };
    printOne(planCapacity(demand, MEASURED), COLUMNS, flags.output);
  });
}

interface Flags {
  readonly tenants: number;
  readonly lanes: number;
  readonly messages: number;
  readonly peak: number;
  readonly turnSeconds: number;
  readonly keepDays: number;
  readonly workerSlots: number;
  readonly output: OutputFormat;
}
