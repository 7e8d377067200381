import { systemClock } from '@turnkeeper/platform/clock';
import { PartitionSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { ago } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper partitions` */
export function registerPartitions(program: Command): void {
  const nowMs = systemClock.nowMs();
  registerNoun(program, {
    noun: 'partitions',
    description: 'which worker owns which part of the lanes (operators)',
    door: 'operator',
    path: '/partitions',
    row: PartitionSchema.loose(),
    columns: [
      { title: 'partition', of: (partition) => partition.id, right: true },
      { title: 'owner', of: (partition) => partition.owner },
      { title: 'state', of: (partition) => partition.ownerState },
      { title: 'epoch', of: (partition) => partition.epoch, right: true },
      { title: 'since', of: (partition) => ago(partition.changedAt, nowMs), right: true },
    ],
    getBy: 'partition',
    isNamed: ({ id }, name) => String(id) === name,
    filters: [{ flag: '--owner <boot>', param: 'owner', help: 'owned by this boot id' }],
  });
}
