import { type ConfigOf, type ConfigOption, type ConfigTable, loadConfig } from '@turnkeeper/platform/config';
import { type Compose, createKit, type Kit, type Listening, type Service } from '@turnkeeper/platform/process';
import type { NodeKind, NodeOptions, NodeProcess } from './node-process.ts';

const START_MS = 60_000;
const DRAIN_MS = 10_000;

/**
 * The same service inside this process: composed from its own `compose.ts`, so only the process boundary is missing. A
 * kill cannot be had here; `SIGKILL` disposes without a drain, `SIGTERM` drains first, other signals do nothing.
 */
export async function startInlineNode(options: NodeOptions): Promise<NodeProcess> {
  const node = new InlineNode(options);
  await node.restart();
  return node;
}

class InlineNode implements NodeProcess {
  readonly kind: NodeKind;
  readonly name: string;
  readonly pid = process.pid;
  readonly log: readonly string[] = [];
  readonly #env: Readonly<Record<string, string>>;
  #kit: Kit | null = null;
  #service: Service | null = null;
  #listening: Listening = { internalPort: 0 };
  #exited: Promise<number | null> = Promise.resolve(null);

  constructor(options: NodeOptions) {
    this.kind = options.kind;
    this.name = options.name;
    this.#env = options.env;
  }

  get bootId(): string {
    return this.#kit?.bootId ?? '';
  }
  get url(): string {
    return `http://127.0.0.1:${this.#listening.publicPort ?? 0}`;
  }
  get internalUrl(): string {
    return `http://127.0.0.1:${this.#listening.internalPort}`;
  }
  get alive(): boolean {
    return this.#service !== null;
  }
  get exited(): Promise<number | null> {
    return this.#exited;
  }

  get #drainMs(): number {
    return Number(this.#env['TURNKEEPER_DRAIN_TIMEOUT_MS'] ?? DRAIN_MS);
  }

  signal(signal: NodeJS.Signals): void {
    if (signal !== 'SIGKILL' && signal !== 'SIGTERM') return;
    const service = this.#service;
    if (service === null) return;
    this.#service = null;
    if (signal === 'SIGTERM') this.#kit?.readiness.enter('draining');
    this.#exited = end(service, signal === 'SIGTERM' ? this.#drainMs : null);
  }

  async restart(env: Readonly<Record<string, string>> = this.#env): Promise<void> {
    await this.#exited;
    const kit = createKit({
      service: this.kind,
      nodeName: this.name,
      logLevel: 'silent',
      drainTimeoutMs: this.#drainMs,
      processMetrics: false,
      fail: (error) => {
        this.signal('SIGKILL');
        throw error;
      },
    });
    const service = await build(this.kind, env, kit);
    this.#listening = await service.start(AbortSignal.timeout(START_MS));
    kit.readiness.enter('ready');
    this.#kit = kit;
    this.#service = service;
  }
}

/** Without a time to drain it is disposed at once. */
async function end(service: Service, drainMs: number | null): Promise<number> {
  if (drainMs !== null) await service.drain(AbortSignal.timeout(drainMs));
  await service[Symbol.asyncDispose]();
  return 0;
}

async function build(kind: NodeKind, env: Readonly<Record<string, string>>, kit: Kit): Promise<Service> {
  switch (kind) {
    case 'ingress': {
      const [{ compose }, { ingressTable }] = await Promise.all([
        import('@turnkeeper/ingress/compose'),
        import('@turnkeeper/ingress/config'),
      ]);
      return configured(ingressTable, compose)(env, kit);
    }
    case 'session-worker': {
      const [{ compose }, { sessionWorkerTable }] = await Promise.all([
        import('@turnkeeper/session-worker/compose'),
        import('@turnkeeper/session-worker/config'),
      ]);
      return configured(sessionWorkerTable, compose)(env, kit);
    }
    case 'coordinator': {
      const [{ compose }, { coordinatorTable }] = await Promise.all([
        import('@turnkeeper/coordinator/compose'),
        import('@turnkeeper/coordinator/config'),
      ]);
      return configured(coordinatorTable, compose)(env, kit);
    }
  }
}

function configured<Options extends Record<string, ConfigOption<unknown>>>(
  table: ConfigTable<Options>,
  compose: Compose<ConfigOf<ConfigTable<Options>>>,
) {
  return async (env: Readonly<Record<string, string>>, kit: Kit) => compose(loadConfig(table, env), kit);
}
