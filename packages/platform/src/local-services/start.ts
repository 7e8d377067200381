import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { AppError } from '@turnkeeper/core';
import { type ConfigOf, type Environment, loadConfig } from '../config/index.ts';
import { localServicesTable } from './config.ts';
import { DockerService, dockerAnswers } from './docker-service.ts';
import { type KeptState, readKeptState, writeKeptState } from './kept-state.ts';
import { natsRecipe } from './nats.ts';
import { postgresRecipe } from './postgres.ts';
import { ProgramService } from './program-service.ts';
import { redisRecipe } from './redis.ts';
import type { LocalService, OnDied, ServiceName, ServiceSource, StopManner } from './types.ts';

export interface LocalServicesOptions {
  readonly need: readonly ServiceName[];
  /** Holds data, logs and passwords. Without it: a temporary folder, removed by `stop`. */
  readonly dataDir?: string;
  /** Data outlive `stop`, and buffers are sized for work rather than for tests. Default: whether `dataDir` is given. */
  readonly persistent?: boolean;
  /** Called when a service ends that nobody stopped; `startService` starts it again. */
  readonly onDied?: OnDied;
  /** `program`: do not ask for a Docker engine. */
  readonly prefer?: 'docker' | 'program';
  /** Where URLs are looked for; the environment of this process when absent. */
  readonly env?: Environment;
}

export interface LocalServices {
  /** Of what was needed; the others are empty. */
  readonly urls: Readonly<Record<ServiceName, string>>;
  /** Where each comes from; `url` = given from outside, not ours to stop. */
  readonly sources: Readonly<Partial<Record<ServiceName, ServiceSource>>>;
  /** What runs now because we started it. */
  readonly processes: readonly { readonly name: ServiceName; readonly pid: number }[];
  /** @throws AppError when the service was given by URL */
  stopService(name: ServiceName, manner?: StopManner): Promise<void>;
  /** Same port, same data. */
  startService(name: ServiceName): Promise<void>;
  /** Ends all that was started here, and removes temporary data. */
  stop(): Promise<void>;
}

/**
 * Finds or starts Postgres, Redis and NATS: a URL in the environment, else a Docker engine that answers, else programs
 * (Postgres from npm, Redis and NATS from PATH or from unpacked Debian packages). Everything listens on 127.0.0.1, on
 * free ports, with data of its own, and ends with this process, however that ends. A service that somebody else runs
 * on a default port is never used.
 * @throws AppError `store_unavailable`, with one sentence that says what to install
 */
export async function startLocalServices(options: LocalServicesOptions): Promise<LocalServices> {
  const config = loadConfig(localServicesTable, options.env);
  const folder = await openFolder(options);
  const state = await readKeptState(folder.path);
  const chain: Chain = {
    ...{ config, state, dataDir: folder.path },
    persistent: options.persistent ?? options.dataDir !== undefined,
    onDied: options.onDied ?? (() => undefined),
    docker: options.prefer !== 'program' && (await dockerAnswers()),
  };
  const wanted = options.need.filter((name) => config[name] === undefined);
  const begun: LocalService[] = [];
  const close = async () => {
    await Promise.all(begun.map((service) => service.close()));
    await folder.remove();
  };
  try {
    const outcomes = await Promise.allSettled(wanted.map((name) => begin(name, chain, begun)));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    for (const { name, source } of begun) if (source !== 'url') state.sources[name] = source;
    await writeKeptState(folder.path, state);
  } catch (err) {
    await close();
    throw err;
  }
  return handle({ begun, config, need: options.need, close });
}

interface Chain {
  readonly config: ConfigOf<typeof localServicesTable>;
  readonly state: KeptState;
  readonly dataDir: string;
  readonly persistent: boolean;
  readonly onDied: OnDied;
  readonly docker: boolean;
}

async function openFolder({ dataDir }: LocalServicesOptions) {
  // another user may have to pass through to the database's folder
  const mode = process.getuid?.() === 0 ? 0o711 : 0o700;
  if (dataDir !== undefined) {
    const path = resolve(dataDir);
    await mkdir(join(path, 'logs'), { recursive: true, mode });
    return { path, remove: () => Promise.resolve() };
  }
  const parent = await mkdtemp(join(tmpdir(), 'turnkeeper-'));
  const path = join(parent, 'data');
  await mkdir(join(path, 'logs'), { recursive: true, mode });
  if (mode === 0o711) await chmod(parent, mode);
  return { path, remove: () => rm(parent, { recursive: true, force: true }) };
}

async function begin(name: ServiceName, chain: Chain, begun: LocalService[]): Promise<void> {
  const kept = chain.state.sources[name];
  const reasons: string[] = [];
  const startOne = async (service: LocalService) => {
    begun.push(service);
    await service.start();
  };
  // data stay where they are: what one kind of server made is not looked for in another
  if (chain.docker && (kept === undefined || kept === 'docker')) {
    const service = dockerService(name, chain);
    try {
      return await startOne(service);
    } catch (err) {
      begun.splice(begun.indexOf(service), 1);
      await service.close();
      // an engine that cannot fetch images (a closed network) is as good as none
      reasons.push(`Docker could not start ${name}: ${err instanceof Error ? err.message : 'unknown'}`);
    }
  }
  if (kept === 'docker' && name === 'postgres') throw inDocker(chain.dataDir, reasons);
  const recipe = await programRecipe(name, chain, (reason) => reasons.push(reason));
  if (!recipe) throw new AppError({ code: 'store_unavailable', message: missing(name, reasons) });
  await startOne(new ProgramService(recipe, chain.onDied));
}

function inDocker(dataDir: string, [reason = 'Docker does not answer']: readonly string[]): AppError {
  return new AppError({
    code: 'store_unavailable',
    message: `The database of ${dataDir} is in Docker (${reason}): start it, or use another data folder.`,
  });
}

function dockerService(name: ServiceName, { config, state, persistent, onDied }: Chain): LocalService {
  const image = { postgres: config.postgresImage, redis: config.redisImage, nats: config.natsImage }[name];
  const password = name === 'postgres' ? state.postgresPassword : state.redisPassword;
  const volume = `turnkeeper-${state.id}-${name}`;
  return new DockerService({ name, image, password, persistent, volume }, onDied);
}

function programRecipe(name: ServiceName, chain: Chain, explain: (reason: string) => void) {
  const { state, dataDir, persistent } = chain;
  const common = { logFile: join(dataDir, 'logs', `${name}.log`), persistent, source: state.sources[name] };
  if (name === 'postgres') {
    return postgresRecipe({
      ...common,
      folder: resolve(dataDir, state.postgresFolder),
      password: state.postgresPassword,
    });
  }
  if (name === 'nats') return natsRecipe({ ...common, explain });
  return redisRecipe({ ...common, dataDir: join(dataDir, 'redis'), password: state.redisPassword, explain });
}

const HOW_TO: Readonly<Record<ServiceName, string>> = {
  postgres: 'PostgreSQL 15 or later (`npm ci` without --omit=optional brings one; Debian: apt-get install postgresql)',
  redis: 'Redis 7 or later (Debian: apt-get install redis-server; macOS: brew install redis)',
  nats: 'the NATS server 2.9 or later (Debian: apt-get install nats-server; macOS: brew install nats-server)',
};

function missing(name: ServiceName, reasons: readonly string[]): string {
  const because = reasons.length > 0 ? ` (${reasons.join('; ')})` : '';
  return `Install ${HOW_TO[name]}, start Docker, or set TURNKEEPER_${name.toUpperCase()}_URL: there is none here${because}.`;
}

function handle(from: {
  readonly begun: readonly LocalService[];
  readonly config: Chain['config'];
  readonly need: readonly ServiceName[];
  readonly close: () => Promise<void>;
}): LocalServices {
  const find = (name: ServiceName): LocalService => {
    const service = from.begun.find((one) => one.name === name);
    if (service) return service;
    throw new AppError({ code: 'internal', message: `${name} was not started here` });
  };
  const urlOf = (name: ServiceName) => from.config[name] ?? from.begun.find((one) => one.name === name)?.url ?? '';
  return {
    urls: { postgres: urlOf('postgres'), redis: urlOf('redis'), nats: urlOf('nats') },
    sources: Object.fromEntries(
      from.need.map((name) => [name, from.config[name] === undefined ? find(name).source : ('url' as const)]),
    ),
    get processes() {
      return from.need.flatMap((name) => {
        const pid = from.begun.find((one) => one.name === name)?.pid ?? null;
        return pid === null ? [] : [{ name, pid }];
      });
    },
    stopService: (name, manner = 'gentle') => find(name).stop(manner),
    startService: (name) => find(name).start(),
    stop: from.close,
  };
}
