import { readFile } from 'node:fs/promises';
import type { Cluster } from '@turnkeeper/test-harness';

/** What a process holds in memory. Linux. */
export async function residentMegabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
}

/** The same of every process of a cluster, by name. */
export async function residentByNode({ nodes }: Pick<Cluster, 'nodes'>): Promise<Record<string, number>> {
  const pairs = nodes.map(async ({ name, pid }) => [name, await residentMegabytes(pid)] as const);
  return Object.fromEntries(await Promise.all(pairs));
}
