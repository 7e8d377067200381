import { join } from 'node:path';
import { environment, loadConfig } from '@turnkeeper/platform/config';
import { type LocalServices, type ServiceName, startLocalServices } from '@turnkeeper/platform/local-services';
import { processTable, systemClock, systemIds } from '@turnkeeper/platform/process';
import { migrate } from '@turnkeeper/storage';
import { sentenceOf } from '../exit.ts';
import { buildChatPage } from './chat-page.ts';
import { DEMO_HOOK, DEMO_TENANT, ensureDemoTenant } from './demo-tenant.ts';
import { choosePorts, reserveInternalPorts } from './ports.ts';
import type { Progress } from './progress.ts';
import { Backoff } from './restarts.ts';
import { loadSecrets, type UpSecrets } from './secrets.ts';
import { serviceSpecs } from './service-specs.ts';
import { Supervisor } from './supervisor.ts';
import { UpFile, type UpReport } from './up-file.ts';

export interface ClusterOptions {
  readonly ingress: number;
  readonly workers: number;
  readonly coordinators: number;
  /** Undefined: 8420 or the next free one. */
  readonly port: number | undefined;
  readonly dataDir: string;
}

/** After the services' own patience, how long they may take to hand work back before they are killed. */
const HAND_BACK_MS = 25_000;
const SOURCES = { url: 'given', docker: 'Docker', npm: 'npm', path: 'PATH', debian: 'Debian package' } as const;
const TITLES = { postgres: 'Postgres', redis: 'Redis', nats: 'NATS' } as const;

/**
 * A whole cluster on this machine: stores, then schema, then services, then the demo tenant. What dies is started
 * again, and `up.json` says what runs at every moment.
 */
export class LocalCluster {
  readonly #options: ClusterOptions;
  readonly #progress: Progress;
  readonly #file: UpFile;
  readonly #supervisor: Supervisor;
  readonly #stopping = new AbortController();
  readonly #backoffs = new Map<ServiceName, Backoff>();
  #stores: LocalServices | null = null;
  #secrets: UpSecrets | null = null;
  #hasChat = false;
  #up = false;

  constructor(options: ClusterOptions, progress: Progress) {
    this.#options = options;
    this.#progress = progress;
    this.#file = new UpFile(options.dataDir);
    this.#supervisor = new Supervisor({
      logDir: join(options.dataDir, 'logs'),
      inform: progress.note,
      onChange: () => this.#changed(),
    });
  }

  /** Resolves with the agents one may talk to. The signal ends a start between two steps. @throws CliError, AppError */
  async start(signal: AbortSignal): Promise<readonly string[]> {
    const { dataDir, ingress, port, workers, coordinators } = this.#options;
    await this.#file.remove();
    // before anything is written: a port that is taken ends the start
    const ports = await choosePorts(ingress, port);
    const secrets = await loadSecrets(dataDir);
    this.#secrets = secrets;
    const internalPorts = await reserveInternalPorts(ingress + workers + coordinators, () => systemIds.random());
    const { step } = this.#progress;
    const building = buildChatPage(this.#progress.note);
    const stores = await step('stores', () => this.#startStores(), describeSources);
    signal.throwIfAborted();
    const url = stores.urls.postgres;
    await step(
      'database',
      () => migrate({ url }),
      ({ version, applied }) => describeSchema(version, applied.length),
    );
    signal.throwIfAborted();
    const chatFolder = await step(
      'chat page',
      () => building,
      (folder) => (folder === null ? 'not served' : 'built'),
    );
    signal.throwIfAborted();
    this.#hasChat = chatFolder !== null;
    const compileCache = join(dataDir, 'compile-cache');
    const shell = environment();
    const specs = serviceSpecs({
      ...{ shell, urls: stores.urls, secrets, chatFolder, compileCache, ports, internalPorts, workers, coordinators },
      portsMayMove: port === undefined,
    });
    const counts = `${ingress} ingress, ${workers} session-worker${plural(workers)}, ${coordinators} coordinator${plural(coordinators)}`;
    await step(
      'services',
      () => this.#supervisor.start(specs),
      () => counts,
    );
    signal.throwIfAborted();
    const agents = await step(
      'demo tenant',
      () => this.#ensureTenant(secrets),
      (names) => `agents ${names.join(', ')}`,
    );
    this.#up = true;
    await this.#file.write(this.report());
    return agents;
  }

  /** What runs now. */
  report(): UpReport {
    const { stores, secrets } = this.#parts();
    const ingress = this.#supervisor.addresses('ingress');
    return {
      ingress: ingress.map((address) => address.public),
      internal: ingress.map((address) => address.internal),
      ...(this.#hasChat ? { chat: `${ingress[0]?.public}/chat` } : {}),
      apiKey: secrets.apiKey,
      operatorKey: secrets.operatorKey,
      tenant: DEMO_TENANT,
      hook: { url: `${ingress[0]?.public}/hooks/${DEMO_TENANT}.${DEMO_HOOK}`, secret: secrets.hookSecret },
      postgresUrl: stores.urls.postgres,
      redisUrl: stores.urls.redis,
      natsUrl: stores.urls.nats,
      processes: [...this.#supervisor.processes(), ...stores.processes],
    };
  }

  /** Drains the services, then stops the stores. Safe at any point of the start. */
  async stop(): Promise<void> {
    this.#up = false;
    this.#stopping.abort();
    await this.#file.remove();
    const { drainTimeoutMs } = loadConfig(processTable);
    const timer = setTimeout(() => this.#supervisor.kill(), drainTimeoutMs + HAND_BACK_MS);
    await this.#supervisor.drain();
    clearTimeout(timer);
    await this.#stores?.stop();
  }

  /** Shortens a stop: once, work in flight is handed back; again, it is cut off. */
  hasten(): void {
    this.#supervisor.hasten();
  }

  kill(): void {
    this.#supervisor.kill();
  }

  async #startStores(): Promise<LocalServices> {
    this.#stores = await startLocalServices({
      need: ['postgres', 'redis', 'nats'],
      dataDir: this.#options.dataDir,
      onDied: (name) => void this.#revive(name),
    });
    return this.#stores;
  }

  #ensureTenant(secrets: UpSecrets): Promise<string[]> {
    const [first] = this.#supervisor.addresses('ingress');
    const admin = { url: first?.internal ?? '', key: secrets.operatorKey };
    return ensureDemoTenant({ admin, publicUrl: first?.public ?? '', secrets });
  }

  /** A store that died is started again on its port, with its data. */
  async #revive(name: ServiceName): Promise<void> {
    const backoff = this.#backoffs.get(name) ?? new Backoff(systemClock, systemIds);
    this.#backoffs.set(name, backoff);
    this.#changed();
    while (!this.#stopping.signal.aborted) {
      this.#progress.note(`${name} ended; it is started again`);
      await systemClock.sleep(backoff.nextMs(), this.#stopping.signal);
      if (this.#stopping.signal.aborted) return;
      try {
        await this.#stores?.startService(name);
        backoff.started();
        this.#progress.note(`${name} is back`);
        return this.#changed();
      } catch (err) {
        this.#progress.note(sentenceOf(err));
      }
    }
  }

  #changed(): void {
    if (!this.#up) return;
    this.#file.write(this.report()).catch((err: unknown) => this.#progress.note(`up.json: ${sentenceOf(err)}`));
  }

  #parts() {
    // both are set before the first report: `start` reports last
    return { stores: this.#stores!, secrets: this.#secrets! };
  }
}

function describeSources({ sources }: LocalServices): string {
  const names = ['postgres', 'redis', 'nats'] as const;
  return names.map((name) => `${TITLES[name]} (${SOURCES[sources[name] ?? 'url']})`).join(', ');
}

function describeSchema(version: number, applied: number): string {
  return applied === 0 ? `schema ${version}` : `schema ${version}, ${applied} migration${plural(applied)} applied`;
}

function plural(count: number): string {
  return count === 1 ? '' : 's';
}
