import { systemClock } from '@turnkeeper/platform/process';
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
      { title: 'partitions', of: (worker) => shorten(ranges(worker.partitions), 14) },
      { title: 'beat', of: (worker) => ago(worker.beatAt, nowMs), right: true },
    ],
    filters: [
      { flag: '--kind <kind>', param: 'kind', help: 'ingress, session-worker or coordinator' },
      { flag: '--state <state>', param: 'state', help: 'open (live or leaving), live, leaving, gone or dead' },
    ],
  });
}
