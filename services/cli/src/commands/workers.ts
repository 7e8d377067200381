import { systemClock } from '@turnkeeper/platform/clock';
import { WorkerSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { ago, ranges, shorten, shortId } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper workers` */
export function registerWorkers(program: Command): void {
  const nowMs = systemClock.nowMs();
  registerNoun(program, {
    noun: 'workers',
    description: 'the processes of the cluster, newest first (operators)',
    door: 'operator',
    path: '/workers',
    row: WorkerSchema.loose(),
    columns: [
      { title: 'name', of: (worker) => shorten(worker.name, 20) },
      { title: 'boot', of: (worker) => shortId(worker.bootId) },
      { title: 'kind', of: (worker) => worker.kind },
      { title: 'state', of: (worker) => (worker.leader ? `${worker.state}, leads` : worker.state) },
      { title: 'partitions', of: (worker) => partitionsOf(worker.partitions) },
      { title: 'beat', of: (worker) => ago(worker.beatAt, nowMs), right: true },
    ],
    getBy: 'worker',
    // of several of that name the newest
    isNamed: ({ bootId, name: called }, name) => [bootId, shortId(bootId), called].includes(name),
    filters: [
      { flag: '--kind <kind>', param: 'kind', help: 'ingress, session-worker or coordinator' },
      { flag: '--state <state>', param: 'state', help: 'open (live or leaving), live, leaving, gone or dead' },
    ],
  });
}

const PARTITIONS_WIDTH = 32;

/** All of them while they fit; else how many, and where they begin and end. */
function partitionsOf(partitions: readonly number[]): string {
  const all = ranges(partitions);
  return all.length <= PARTITIONS_WIDTH ? all : `${partitions.length}: ${shorten(all, PARTITIONS_WIDTH)}`;
}
