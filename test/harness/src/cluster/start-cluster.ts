import { randomBytes } from 'node:crypto';
import { freshDatabase } from '@turnkeeper/storage/testing';
import { until } from '../until.ts';
import { startInlineNode } from './inline-node.ts';
import { type NodeKind, type NodeProcess, startNode } from './node-process.ts';

export interface ClusterOptions {
  /** Servers that the cluster may use: it takes a database, a Redis prefix and a NATS prefix of its own. */
  readonly urls: { readonly postgres: string; readonly redis: string; readonly nats: string };
  readonly ingress?: number;
  readonly workers?: number;
  readonly coordinators?: number;
  /** `process` (default): each service its own process, so that it can be killed. `inline`: all in this one, for speed. */
  readonly mode?: 'process' | 'inline';
  /** Another version to start with: the folder of its checkout, and a database that it has migrated. */
  readonly version?: { readonly program: string; readonly database: { readonly url: string; drop(): Promise<void> } };
  /** Further TURNKEEPER_* settings for every service. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Cluster extends AsyncDisposable {
  readonly ingress: readonly NodeProcess[];
  readonly workers: readonly NodeProcess[];
  readonly coordinators: readonly NodeProcess[];
  readonly nodes: readonly NodeProcess[];
  /** The cluster's own database, with the login of the server's URL. */
  readonly postgresUrl: string;
  readonly operatorKey: string;
  /** Owner key of tenant `test`, whose agent `main` is an echo. */
  readonly apiKey: string;
  /** What every service was started with; for starting one more. */
  readonly env: Readonly<Record<string, string>>;
  /** A call of `/v1` (or `/hooks`) at the first ingress, with the tenant's key. */
  api(path: string, init?: ApiInit): Promise<ApiAnswer>;
  /** A call of `/admin/v1` at the first live ingress, with the operator's key. */
  admin(path: string, init?: ApiInit): Promise<ApiAnswer>;
  /** Makes or changes a tenant (the object of `turnkeeper apply`) and returns its owner key. */
  putTenant(tenant: { readonly name: string } & Readonly<Record<string, unknown>>): Promise<string>;
  /** Adds a node of a kind. */
  add(kind: NodeKind, env?: Readonly<Record<string, string>>): Promise<NodeProcess>;
  /** The value of a metric, summed over its series and the live nodes of a kind. */
  metric(kind: NodeKind, name: string): Promise<number>;
}

export interface ApiInit {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
  readonly node?: NodeProcess;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

const OWNED_DEADLINE_MS = 60_000;

/** Starts a whole cluster on services that run already and waits until its partitions have owners. Dispose it: `await using`. */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const database = options.version?.database ?? (await freshDatabase(options.urls));
  const prefix = `t${randomBytes(5).toString('hex')}`;
  const env = {
    TURNKEEPER_POSTGRES_URL: database.url,
    TURNKEEPER_REDIS_URL: options.urls.redis,
    TURNKEEPER_NATS_URL: options.urls.nats,
    TURNKEEPER_PREFIX: prefix,
    TURNKEEPER_KEY_PEPPER: randomBytes(32).toString('base64url'),
    TURNKEEPER_MASTER_KEY: randomBytes(32).toString('base64'),
    TURNKEEPER_OPERATOR_KEY: `tkop_${randomBytes(8).toString('hex')}_${randomBytes(20).toString('hex')}`,
    TURNKEEPER_EGRESS_ALLOW: 'loopback',
    TURNKEEPER_PORT: '0',
    TURNKEEPER_INTERNAL_PORT: '0',
    TURNKEEPER_LOG_LEVEL: 'info',
    TURNKEEPER_LAME_DUCK_MS: '0',
    ...options.env,
  };
  const cluster = new RunningCluster({
    mode: options.mode ?? 'process',
    env,
    database,
    program: options.version?.program,
  });
  try {
    const kinds: NodeKind[] = [
      ...Array<NodeKind>(options.ingress ?? 1).fill('ingress'),
      ...Array<NodeKind>(options.workers ?? 1).fill('session-worker'),
      ...Array<NodeKind>(options.coordinators ?? 1).fill('coordinator'),
    ];
    await Promise.all(kinds.map((kind) => cluster.add(kind)));
    await cluster.untilOwned();
    await cluster.putTenant({ name: 'test', key: cluster.apiKey, agents: [{ name: 'main', runtime: 'echo' }] });
    return cluster;
  } catch (error) {
    await cluster[Symbol.asyncDispose]();
    throw error;
  }
}

class RunningCluster implements Cluster {
  readonly env: Readonly<Record<string, string>>;
  readonly apiKey = apiKey();
  readonly #mode: 'process' | 'inline';
  readonly #database: { readonly url: string; drop(): Promise<void> };
  readonly #program: string | undefined;
  readonly #nodes: NodeProcess[] = [];
  readonly #counts = new Map<NodeKind, number>();

  constructor(from: {
    readonly mode: 'process' | 'inline';
    readonly env: Readonly<Record<string, string>>;
    readonly database: { readonly url: string; drop(): Promise<void> };
    readonly program: string | undefined;
  }) {
    this.#mode = from.mode;
    this.env = from.env;
    this.#database = from.database;
    this.#program = from.program;
  }

  get nodes(): readonly NodeProcess[] {
    return this.#nodes;
  }
  get ingress(): readonly NodeProcess[] {
    return this.#ofKind('ingress');
  }
  get workers(): readonly NodeProcess[] {
    return this.#ofKind('session-worker');
  }
  get coordinators(): readonly NodeProcess[] {
    return this.#ofKind('coordinator');
  }
  get postgresUrl(): string {
    return this.#database.url;
  }
  get operatorKey(): string {
    return this.env['TURNKEEPER_OPERATOR_KEY'] ?? '';
  }

  async add(kind: NodeKind, env: Readonly<Record<string, string>> = {}): Promise<NodeProcess> {
    const number = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, number);
    const start = this.#mode === 'inline' ? startInlineNode : startNode;
    const node = await start({
      ...{ kind, name: `${kind}-${number}`, env: { ...this.env, ...env } },
      ...(this.#program === undefined ? {} : { program: this.#program }),
    });
    this.#nodes.push(node);
    return node;
  }

  /** Every partition has a live owner: from here on nothing waits for a scan. */
  async untilOwned(): Promise<void> {
    if (this.workers.length === 0 || this.ingress.length === 0) return;
    await until(
      'every partition has an owner',
      async () => {
        const { json } = await this.admin('/admin/v1/partitions?limit=200');
        const partitions = json.data as { owner: string | null }[];
        return partitions.length > 0 && partitions.every((partition) => partition.owner !== null);
      },
      OWNED_DEADLINE_MS,
    );
  }

  api(path: string, init: ApiInit = {}): Promise<ApiAnswer> {
    return call((init.node ?? this.#live('ingress')).url + path, init.key ?? this.apiKey, init);
  }

  admin(path: string, init: ApiInit = {}): Promise<ApiAnswer> {
    return call((init.node ?? this.#live('ingress')).internalUrl + path, init.key ?? this.operatorKey, init);
  }

  async putTenant(
    tenant: { readonly name: string; readonly key?: string } & Readonly<Record<string, unknown>>,
  ): Promise<string> {
    const { key = apiKey(), ...object } = tenant;
    const limits = { turnSlots: 5000, queuedPerLane: 100_000, queuedPerTenant: 1_000_000 };
    const body = { limits, ...object, keys: [{ name: 'owner', secret: key, preset: 'owner' }] };
    const answer = await this.admin(`/admin/v1/tenants/${tenant.name}`, { method: 'PUT', body });
    if (answer.status >= 300) throw new Error(`tenant ${tenant.name}: ${answer.status} ${answer.text}`);
    return key;
  }

  async metric(kind: NodeKind, name: string): Promise<number> {
    let sum = 0;
    for (const node of this.#ofKind(kind)) {
      if (!node.alive) continue;
      const text = await (await fetch(`${node.internalUrl}/metrics`, { signal: AbortSignal.timeout(5000) })).text();
      for (const line of text.split('\n')) {
        const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`).exec(line)?.[1];
        if (value !== undefined) sum += Number(value);
      }
    }
    return sum;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes) {
      node.signal('SIGCONT');
      node.signal('SIGKILL');
    }
    await Promise.all(this.#nodes.map((node) => node.exited));
    await this.#database.drop();
  }

  #ofKind(kind: NodeKind): NodeProcess[] {
    return this.#nodes.filter((node) => node.kind === kind);
  }

  #live(kind: NodeKind): NodeProcess {
    const node = this.#ofKind(kind).find((one) => one.alive);
    if (node === undefined) throw new Error(`no live ${kind} in this cluster`);
    return node;
  }
}

async function call(url: string, key: string, init: ApiInit): Promise<ApiAnswer> {
  const raw = typeof init.body === 'string' || init.body === undefined;
  const response = await fetch(url, {
    method: init.method ?? (init.body === undefined ? 'GET' : 'POST'),
    headers: {
      authorization: `Bearer ${key}`,
      ...(init.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...init.headers,
    },
    ...(init.body === undefined ? {} : { body: raw ? (init.body as string) : JSON.stringify(init.body) }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : null };
}

function apiKey(): string {
  return `tk_${randomBytes(8).toString('hex')}_${randomBytes(24).toString('hex')}`;
}
