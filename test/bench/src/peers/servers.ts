import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort, unpackDebian } from '@turnkeeper/platform/local-services';
import { type GuardedChild, startGuarded } from '@turnkeeper/platform/process';
import { until } from '@turnkeeper/test-harness';
import type { Addresses } from '../../peers/peer.ts';

const START_MS = 60_000;
const PEERS = new URL('../../peers/', import.meta.url);

/** The servers of the peers that need their own, beside Turnkeeper's Postgres and Redis. */
export interface PeerServers extends AsyncDisposable {
  readonly addresses: Addresses;
  /** Restate starts anew with an empty folder. */
  freshRestate(): Promise<void>;
  /** Until the next `freshRestate`: an idle one costs the others. */
  stopRestate(): Promise<void>;
}

/** @throws Error when NATS or Restate cannot be started here */
export async function startPeerServers(urls: { postgres: string; redis: string }): Promise<PeerServers> {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-peers-'));
  const [natsPort, ingressPort, adminPort, nodePort] = await Promise.all([1, 2, 3, 4].map(() => freePort()));
  const log = await open(join(folder, 'servers.log'), 'a');
  const stdio = ['ignore', log.fd, log.fd] as const;
  const nats = await startNats(natsPort ?? 0, join(folder, 'jetstream'), [...stdio]);
  let restate: GuardedChild | null = null;
  const addresses = {
    ...urls,
    jetstream: `nats://127.0.0.1:${natsPort}`,
    restateIngress: `http://127.0.0.1:${ingressPort}`,
    restateAdmin: `http://127.0.0.1:${adminPort}`,
  };
  return {
    addresses,
    async freshRestate() {
      await end(restate);
      const base = await mkdtemp(join(folder, 'restate-'));
      restate = await startGuarded({
        program: restateProgram(),
        args: [
          '--no-logo',
          '--listen-mode',
          'tcp',
          '--bind-ip',
          '127.0.0.1',
          '--bind-port',
          String(nodePort),
          '--base-dir',
          base,
        ],
        env: {
          ...process.env,
          RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingressPort}`,
          RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${adminPort}`,
          RESTATE_DISABLE_TELEMETRY: 'true',
          RUST_LOG: 'error',
        },
        stdio: [...stdio],
        deathSignal: 'SIGKILL',
      });
      await until('Restate serves', () => answers(`${addresses.restateIngress}/restate/health`), START_MS);
      await until('Restate can be asked', () => answers(`${addresses.restateAdmin}/health`), START_MS);
    },
    stopRestate: () => end(restate),
    async [Symbol.asyncDispose]() {
      await Promise.all([end(restate), end(nats)]);
      await log.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Versions as installed: a table without them says nothing. */
export async function peerVersions(): Promise<Readonly<Record<string, string>>> {
  const manifest: { dependencies: Record<string, string> } = JSON.parse(
    await readFile(new URL('package.json', PEERS), 'utf8'),
  );
  return manifest.dependencies;
}

async function startNats(port: number, store: string, stdio: (number | 'ignore')[]): Promise<GuardedChild> {
  const reasons: string[] = [];
  const unpacked = await unpackDebian('nats-server', 'usr/sbin/nats-server', (reason) => reasons.push(reason));
  if (unpacked === null) throw new Error(`no nats-server: ${reasons.join('; ')}`);
  return startGuarded({
    program: unpacked.program,
    args: ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', store],
    env: { ...process.env, LD_LIBRARY_PATH: unpacked.libraryPath },
    stdio,
    deathSignal: 'SIGKILL',
  });
}

function restateProgram(): string {
  const require = createRequire(new URL('package.json', PEERS));
  const system = `${process.platform}-${process.arch}`;
  const manifest = require.resolve(`@restatedev/restate-server-${system}/package.json`);
  return join(dirname(manifest), 'bin', 'restate-server');
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(1_000) })).ok;
  } catch {
    // not up yet: asked again until the deadline
    return false;
  }
}

async function end(child: GuardedChild | null): Promise<void> {
  child?.process.kill('SIGKILL');
  await child?.ended;
}
