import { systemClock } from '@turnkeeper/platform/clock';
import { PartitionSchema } from '@turnkeeper/protocol';
import { type LayoutChange, openDatabase, PartitionLayout } from '@turnkeeper/storage';
import type { Command } from 'commander';
import { addOutputFlag, type OutputFormat } from '../output.ts';
import { ago } from '../show.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { wholeNumber } from './arguments.ts';
import { printAnswer, registerNoun } from './nouns.ts';

/** `turnkeeper partitions` */
export function registerPartitions(program: Command): void {
  const nowMs = systemClock.nowMs();
  const partitions = registerNoun(program, {
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
  registerLayout(partitions);
}

interface Flags extends TargetFlags {
  readonly output: OutputFormat;
}

const PARTITION = wholeNumber(0, 32_767);

/** `turnkeeper partitions split|merge`: straight in the database, for it works without any process, too. */
function registerLayout(partitions: Command): void {
  const split = partitions
    .command('split')
    .description('give half of a partition’s lanes to a new partition; nothing has to stop')
    .argument('<partition>', 'its number', PARTITION);
  addTargetFlags(addOutputFlag(split), 'database').action((from: number, flags: Flags) =>
    change(flags, (layout) => layout.split(from)),
  );
  const merge = partitions
    .command('merge')
    .description('give all lanes of a partition to another one; the first is gone then')
    .argument('<from>', 'the one that goes', PARTITION)
    .argument('<to>', 'the one that stays', PARTITION);
  addTargetFlags(addOutputFlag(merge), 'database').action((from: number, to: number, flags: Flags) =>
    change(flags, (layout) => layout.merge(from, to)),
  );
}

async function change(flags: Flags, work: (layout: PartitionLayout) => Promise<LayoutChange>): Promise<void> {
  const { postgresUrl } = await resolveTarget(flags);
  const database = openDatabase({
    ...{ url: postgresUrl(), role: 'tk_admin', poolMax: 1, applicationName: 'turnkeeper partitions' },
  });
  try {
    printAnswer(await work(new PartitionLayout(database)), flags.output);
  } finally {
    await database.close();
  }
}
