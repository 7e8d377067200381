import { existsSync } from 'node:fs';
import { request } from 'node:http';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '@turnkeeper/core';
import type { StartedTestContainer } from 'testcontainers';
import { environment } from '../config/index.ts';
import { systemClock } from '../process/clock.ts';
import { freePort } from './free-port.ts';
import { postgresSettings } from './postgres.ts';
import { askTcp } from './program-service.ts';
import type { LocalService, OnDied, ServiceName, StopManner } from './types.ts';

const PING_MS = 1000;
const START_MS = 180_000;
const ANSWER_MS = 60_000;
const POLL_MS = 100;
const STOP_SECONDS = 20;

/** True when a Docker engine of this machine answers; having its client on PATH says nothing. */
export async function dockerAnswers(): Promise<boolean> {
  const host = environment()['DOCKER_HOST'];
  // ports are opened on loopback only, so an engine elsewhere is of no use
  if (host && !host.startsWith('unix://')) return false;
  const sockets = host?.startsWith('unix://')
    ? [host.slice('unix://'.length)]
    : ['/var/run/docker.sock', join(homedir(), '.docker/run/docker.sock')];
  const socketPath = sockets.find((path) => existsSync(path));
  return socketPath !== undefined && ping(socketPath);
}

function ping(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: '/_ping', timeout: PING_MS }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.once('timeout', () => asked.destroy(new Error('no answer')));
    asked.once('error', () => resolve(false));
    asked.end();
  });
}

export interface DockerRecipe {
  readonly name: ServiceName;
  readonly image: string;
  readonly password: string;
  readonly persistent: boolean;
  /** Docker keeps the data of a persistent service in a volume of this name. */
  readonly volume: string;
}

const INSIDE = {
  postgres: { port: 5432, folder: '/var/lib/postgresql', immediate: 'SIGQUIT' },
  redis: { port: 6379, folder: '/data', immediate: 'SIGKILL' },
  nats: { port: 4222, folder: null, immediate: 'SIGKILL' },
} as const;

/** A service in a container on a port of its own. testcontainers' reaper removes it when this process dies. */
export class DockerService implements LocalService {
  readonly name: ServiceName;
  readonly source = 'docker';
  readonly #recipe: DockerRecipe;
  readonly #onDied: OnDied;
  #port = 0;
  #pid: number | null = null;
  #container: StartedTestContainer | null = null;

  constructor(recipe: DockerRecipe, onDied: OnDied) {
    this.name = recipe.name;
    this.#recipe = recipe;
    this.#onDied = onDied;
  }

  get url(): string {
    const { name, password } = this.#recipe;
    if (name === 'postgres') return `postgres://postgres:${password}@127.0.0.1:${this.#port}/postgres`;
    return name === 'redis' ? `redis://:${password}@127.0.0.1:${this.#port}` : `nats://127.0.0.1:${this.#port}`;
  }

  get pid(): number | null {
    return this.#pid;
  }

  async start(): Promise<void> {
    if (this.#container) await (await this.#handle(this.#container)).start();
    else await this.#create();
    await this.#untilAnswers();
    await this.#watch();
  }

  async stop(manner: StopManner): Promise<void> {
    if (!this.#container || this.#pid === null) return;
    this.#pid = null;
    const handle = await this.#handle(this.#container);
    if (manner === 'gentle') await handle.stop({ t: STOP_SECONDS });
    else await handle.kill({ signal: INSIDE[this.name].immediate });
    await handle.wait();
  }

  async close(): Promise<void> {
    await this.stop('gentle');
    await this.#container?.stop({ remove: true });
    this.#container = null;
  }

  async #create(): Promise<void> {
    // testcontainers needs a second to load, and only this branch needs it
    const { Wait } = await import('testcontainers');
    const { LoopbackContainer } = await import('./loopback-container.ts');
    const { name, image, persistent, volume, password } = this.#recipe;
    const inside = INSIDE[name];
    this.#port = await freePort();
    let container = new LoopbackContainer(image)
      .withExposedPorts({ container: inside.port, host: this.#port })
      .withCommand(commandOf(this.#recipe))
      .withStartupTimeout(START_MS)
      .withWaitStrategy(Wait.forLogMessage(/./));
    if (name === 'postgres') container = container.withEnvironment({ POSTGRES_PASSWORD: password });
    if (persistent && inside.folder) container = container.withBindMounts([{ source: volume, target: inside.folder }]);
    this.#container = await container.start();
  }

  async #untilAnswers(): Promise<void> {
    const deadlineMs = systemClock.monotonicMs() + ANSWER_MS;
    while (systemClock.monotonicMs() < deadlineMs) {
      if (await this.#answers().catch(() => false)) return;
      await systemClock.sleep(POLL_MS);
    }
    throw new AppError({
      code: 'store_unavailable',
      message: `${this.name} in Docker (${this.#recipe.image}) does not answer`,
    });
  }

  async #answers(): Promise<boolean> {
    const { name, password } = this.#recipe;
    if (name === 'nats') return (await askTcp(this.#port, '')).startsWith('INFO ');
    if (name === 'redis') return (await askTcp(this.#port, `AUTH ${password}\r\nPING\r\n`)).includes('+PONG');
    // over TCP: the server that the image runs to set itself up listens on a socket file only
    const asked = await this.#container?.exec(['pg_isready', '-U', 'postgres', '-h', '127.0.0.1']);
    return asked?.exitCode === 0;
  }

  async #watch(): Promise<void> {
    if (!this.#container) return;
    const handle = await this.#handle(this.#container);
    const pid = (await handle.inspect()).State.Pid;
    this.#pid = pid;
    const died = () => {
      if (this.#pid !== pid) return;
      this.#pid = null;
      this.#onDied(this.name);
    };
    void handle.wait().then(died, died);
  }

  async #handle(container: StartedTestContainer) {
    const { getContainerRuntimeClient } = await import('testcontainers');
    return (await getContainerRuntimeClient()).container.getById(container.getId());
  }
}

function commandOf({ name, password, persistent }: DockerRecipe): string[] {
  if (name === 'postgres') {
    const { listen_addresses: _, ...inside } = postgresSettings(persistent);
    return ['postgres', ...Object.entries(inside).flatMap(([key, value]) => ['-c', `${key}=${value}`])];
  }
  if (name === 'nats') return [];
  const append = persistent ? ['--appendonly', 'yes', '--appendfsync', 'everysec'] : ['--appendonly', 'no'];
  return ['redis-server', '--requirepass', password, '--maxmemory-policy', 'noeviction', '--save', '', ...append];
}
