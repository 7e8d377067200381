/** One message of a benchmark. */
export interface Message {
  /** Of the run, from 0. */
  readonly number: number;
  /** Of its lane within the run, from 0: what order is judged by. */
  readonly inLane: number;
  readonly lane: number;
  /** The lane's name, new in each run. */
  readonly key: string;
  /** When it was due (open loop) or sent, monotonic milliseconds of the machine. */
  readonly dueMs: number;
  /** As long as people write. */
  readonly text: string;
}

/** Servers that peers may use; the same Postgres and Redis settings as Turnkeeper's. */
export interface Addresses {
  readonly postgres: string;
  readonly redis: string;
  readonly jetstream: string;
  readonly restateIngress: string;
  readonly restateAdmin: string;
}

export interface Run {
  /** New in each run. */
  readonly id: string;
  /** Messages are all sent before the worker starts. */
  readonly storedFirst: boolean;
  /** Messages handled at once. */
  readonly concurrency: number;
}

export interface Producer {
  /** Resolves when the peer has acknowledged it. */
  send(message: Message): Promise<void>;
  close(): Promise<void>;
}

/** A queue with an order per key, in its recommended durable setting. */
export interface Peer {
  /** How it is set up, in one line of the table. */
  readonly settings: string;
  /** What an acknowledged message survives. */
  readonly durable: string;
  /** Forgets the runs before. */
  reset(at: Addresses): Promise<void>;
  producer(at: Addresses, run: Run): Promise<Producer>;
  /** Starts handling, in this process. */
  worker(at: Addresses, run: Run, handle: (message: Message) => Promise<void>): Promise<{ stop(): Promise<void> }>;
}
