import { readFile } from 'node:fs/promises';
import { type NodeKind, type NodeProcess, until } from '@turnkeeper/test-harness';
import type { Stage } from './stage.ts';

/** Where a message is when a fault strikes. */
export interface Phase {
  readonly name: string;
  readonly kind: NodeKind;
  /** The place at which the node holds itself; null: it is held from outside while turns run. */
  readonly point: string | null;
}

/** The way of a message, as far as a fault can meet it. */
export const PHASES = [
  { name: 'accepting', kind: 'ingress', point: 'accept.before-commit' },
  { name: 'between accept and activate', kind: 'ingress', point: 'activate.before' },
  { name: 'claimed', kind: 'session-worker', point: 'claim.after' },
  { name: 'running', kind: 'session-worker', point: null },
  { name: 'between model reply and commit', kind: 'session-worker', point: 'commit.before' },
  { name: 'between commit and send', kind: 'session-worker', point: 'deliver.before-send' },
  { name: 'between send and record', kind: 'session-worker', point: 'deliver.after-send' },
] as const satisfies readonly Phase[];

/** By then the node is in the middle of the load. An ingress passes its places once per batch, of which a busy one makes few. */
const NTH = { ingress: 3, 'session-worker': 20, coordinator: 1 } as const;
/** With fewer a held worker may have nothing in hand. */
const TURNS_IN_FLIGHT = 3;

/** The node that will be held, before the load begins: its address may change. */
export async function arm({ cluster }: Stage, { kind, point }: Phase): Promise<NodeProcess> {
  const node = cluster.nodes.find((one) => one.kind === kind);
  if (node === undefined) throw new Error(`no ${kind}`);
  if (point === null) return node;
  node.signal('SIGTERM');
  await node.exited;
  await node.restart({ ...cluster.env, TURNKEEPER_CRASH_POINTS: `${point}:stop:${NTH[kind]}` });
  return node;
}

/** Resolves when the node stands still in the phase; SIGCONT lets it go on. */
export async function held(node: NodeProcess, { point }: Phase): Promise<void> {
  if (point === null) {
    await until('it runs turns', async () => (await runningTurns(node)) >= TURNS_IN_FLIGHT, 30_000);
    node.signal('SIGSTOP');
  }
  await until('it stands still', () => isStopped(node.pid), 60_000);
}

/** Whether a signal holds the process (`proc_pid_stat`: the state stands behind the name in parentheses). */
async function isStopped(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}

async function runningTurns(worker: NodeProcess): Promise<number> {
  return Number(/^turnkeeper_turns_running(?:\{[^}]*\})? (\d+)$/m.exec(await metricsOf(worker))?.[1] ?? 0);
}

/** What a node says of itself. */
export async function metricsOf(node: NodeProcess): Promise<string> {
  return (await fetch(`${node.internalUrl}/metrics`)).text();
}
