export type ServiceName = 'postgres' | 'redis' | 'nats';

/** Where a service comes from; kept in the data folder, so that a later start finds its data again. */
export type ServiceSource = 'url' | 'docker' | 'npm' | 'path' | 'debian';

export type StopManner =
  /** Everything is written down first; within seconds. */
  | 'gentle'
  /** As in a crash: Postgres recovers from its log at the next start, Redis and NATS are killed. */
  | 'immediate';

/** One service that was started here. */
export interface LocalService {
  readonly name: ServiceName;
  readonly source: ServiceSource;
  readonly url: string;
  /** Of the server itself; `null` while it is stopped, and for a container whose pid is not of this machine. */
  readonly pid: number | null;
  /** Same port, same data as before. Resolves when it answers. @throws AppError `store_unavailable` */
  start(): Promise<void>;
  /** Resolves when it is gone. Stopping twice is fine. */
  stop(manner: StopManner): Promise<void>;
  /** Gentle, and for good. Persistent data stay. */
  close(): Promise<void>;
}

/** Told when a service ends that nobody stopped. */
export type OnDied = (name: ServiceName) => void;
