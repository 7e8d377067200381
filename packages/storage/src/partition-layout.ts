import { AppError } from '@turnkeeper/core';
import { sql } from 'kysely';
import type { Database } from './database.ts';
import { inTransaction, type QueryBuilder, queryBuilder, type Run } from './read/queries.ts';

export interface LayoutChange {
  readonly from: number;
  readonly to: number;
  /** Slots that changed hands. */
  readonly slots: number;
}

/**
 * Which slots belong to which partition. Safe while everything runs: a partition only says who looks for work where. Nodes
 * read the map anew within ten seconds; until then a lane may be looked at by its old owner, its new one or both, and the
 * claim, which is fenced by the lane alone, lets one of them have it. Wake-ups that went to the old partition are made up
 * for by the new owner's scan.
 */
export class PartitionLayout {
  readonly #database: Database;
  readonly #build: QueryBuilder = queryBuilder();

  /** As tk_admin. */
  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Gives the upper half of a partition's slots to a new one, which any worker may take.
   * @throws AppError `not_found`, `cannot_change` for one of a single slot; StoreError
   */
  split(from: number): Promise<LayoutChange> {
    return inTransaction(this.#database, async (run) => {
      const slots = await this.#slotsOf(run, from);
      const moved = slots.slice(Math.ceil(slots.length / 2));
      if (moved.length === 0) throw cannotChange(`Partition ${from} has a single slot: it cannot be split.`);
      const [{ next } = { next: 0 }] = await run(
        this.#build.selectFrom('tk.partitions').select(sql<number>`max(id) + 1`.as('next')),
      );
      await run(this.#build.insertInto('tk.partitions').values({ id: next }));
      await this.#move(run, moved, next);
      return { from, to: next, slots: moved.length };
    });
  }

  /**
   * Gives all slots of a partition to another one; the first is gone then.
   * @throws AppError `not_found`, `cannot_change` for one with itself; StoreError
   */
  merge(from: number, to: number): Promise<LayoutChange> {
    return inTransaction(this.#database, async (run) => {
      if (from === to) throw cannotChange('A partition cannot be merged with itself.');
      await this.#slotsOf(run, to);
      const slots = await this.#slotsOf(run, from);
      await this.#move(run, slots, to);
      await run(this.#build.deleteFrom('tk.partitions').where('id', '=', from));
      return { from, to, slots: slots.length };
    });
  }

  /** In order, with the layout locked against another change. */
  async #slotsOf(run: Run, partition: number): Promise<number[]> {
    await run(this.#build.selectNoFrom(sql`pg_advisory_xact_lock(hashtext('tk.partitions'))`.as('lock')));
    const rows = await run(
      this.#build.selectFrom('tk.slots').select('slot').where('partition_id', '=', partition).orderBy('slot'),
    );
    if (rows.length === 0) throw new AppError({ code: 'not_found', message: `There is no partition ${partition}.` });
    return rows.map(({ slot }) => slot);
  }

  async #move(run: Run, slots: readonly number[], to: number): Promise<void> {
    await run(
      this.#build
        .updateTable('tk.slots')
        .set({ partition_id: to })
        .where(sql<boolean>`slot = any(${slots}::smallint[])`),
    );
  }
}

function cannotChange(message: string): AppError {
  return new AppError({ code: 'cannot_change', message });
}
