/** What is asked of a cluster. */
export interface Demand {
  readonly tenants: number;
  /** Conversations that a tenant has. */
  readonly lanesPerTenant: number;
  /** Messages that come in for a tenant on a day. */
  readonly messagesPerTenantDay: number;
  /** The busiest hour, as a multiple of the mean one. */
  readonly peakFactor: number;
  /** Mean time that an agent takes to answer. */
  readonly turnSeconds: number;
  /** Days that transcripts are kept. */
  readonly keepDays: number;
  /** Slots of one worker (TURNKEEPER_WORKER_SLOTS). */
  readonly workerSlots: number;
}

/** What one message and one conversation cost. Measured; `docs/scaling.md` says how. */
export interface Costs {
  /** CPU of each part for a message through HTTP and its answer, microseconds. */
  readonly cpuMicros: {
    readonly ingress: number;
    readonly worker: number;
    readonly postgres: number;
    readonly redis: number;
  };
  /** Disk of the database for a message, its answer and its turn, indexes included. */
  readonly bytesPerMessage: number;
  /** Disk of the database for a conversation, indexes included. */
  readonly bytesPerLane: number;
  /** Memory of a worker for a turn in flight. */
  readonly bytesPerTurn: number;
  /** Memory of a service with nothing to do. */
  readonly idleMegabytes: number;
  /** Database connections of one process of each service. */
  readonly connections: { readonly ingress: number; readonly worker: number; readonly coordinator: number };
}

/** What is needed at the peak. */
export interface Plan {
  readonly messagesPerSecond: { readonly mean: number; readonly peak: number };
  readonly turnsInFlight: number;
  readonly ingress: number;
  readonly workers: number;
  readonly coordinators: number;
  readonly workerMegabytes: number;
  readonly partitions: number;
  readonly cores: {
    readonly ingress: number;
    readonly worker: number;
    readonly postgres: number;
    readonly redis: number;
  };
  readonly databaseConnections: number;
  readonly databaseGigabytes: number;
  /** Above this many messages a second one database server is not enough, whatever its cores. */
  readonly beyondOneDatabase: boolean;
}

const SECONDS_PER_DAY = 86_400;
/** Half of each core and of each slot stays free: for the loss of a node, and for what no mean tells. */
const FILL = 0.5;
/** One is lost or replaced at any time. */
const NODES_MIN = 2;
/** Each worker owns several, so that the loss of one spreads over the others. */
const PARTITIONS_PER_WORKER = 8;
/** A single-writer log and its vacuum: what a large server was seen to hold is not measured here, this is a caution. */
const CORES_OF_ONE_DATABASE = 32;

/** How much of everything a demand needs: means and Little's law, with half of all kept free. */
export function planCapacity(demand: Demand, costs: Costs): Plan {
  const mean = (demand.tenants * demand.messagesPerTenantDay) / SECONDS_PER_DAY;
  const peak = mean * demand.peakFactor;
  const turnsInFlight = Math.ceil(peak * demand.turnSeconds);
  const coresOf = (micros: number) => (peak * micros) / 1e6 / FILL;
  const cores = {
    ingress: coresOf(costs.cpuMicros.ingress),
    worker: coresOf(costs.cpuMicros.worker),
    postgres: coresOf(costs.cpuMicros.postgres),
    redis: coresOf(costs.cpuMicros.redis),
  };
  // a process of one thread uses one core
  const ingress = Math.max(NODES_MIN, Math.ceil(cores.ingress));
  const bySlots = turnsInFlight / (demand.workerSlots * FILL);
  const workers = Math.max(NODES_MIN, Math.ceil(Math.max(cores.worker, bySlots)));
  const coordinators = NODES_MIN;
  const kept =
    demand.tenants *
    (demand.messagesPerTenantDay * demand.keepDays * costs.bytesPerMessage +
      demand.lanesPerTenant * costs.bytesPerLane);
  const { connections } = costs;
  return {
    messagesPerSecond: { mean, peak },
    turnsInFlight,
    ...{ ingress, workers, coordinators, cores },
    workerMegabytes: Math.ceil(costs.idleMegabytes + (demand.workerSlots * costs.bytesPerTurn) / 2 ** 20),
    partitions: powerOfTwo(workers * PARTITIONS_PER_WORKER),
    databaseConnections:
      ingress * connections.ingress + workers * connections.worker + coordinators * connections.coordinator,
    databaseGigabytes: kept / 2 ** 30,
    beyondOneDatabase: cores.postgres > CORES_OF_ONE_DATABASE,
  };
}

/** The next one: slots divide evenly among them. */
function powerOfTwo(atLeast: number): number {
  return Math.min(4096, 2 ** Math.ceil(Math.log2(Math.max(16, atLeast))));
}
