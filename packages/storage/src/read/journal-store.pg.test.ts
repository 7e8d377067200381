import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { allPages, openReadStage, type ReadStage } from '../testing/read-stage.ts';
import { JournalStore } from './journal-store.ts';

let read: ReadStage;
beforeAll(async () => {
  read = await openReadStage(inject('urls'));
});
afterAll(() => read.close());

test('turns that have ended are listed newest first, over all tenants or of one, page after page', async () => {
  const { stage } = read;
  const journal = new JournalStore(read.admin);
  const worker = await stage.worker();
  const tenantId = await read.tenant('acme');
  const lane = stage.lane(tenantId, 'lane');
  const ids: string[] = [];
  for (const text of ['a', 'b', 'c']) {
    await stage.send(lane, text);
    const turn = await stage.claim(worker, lane);
    await stage.commit(worker, turn);
    ids.push(turn.fence.turnId);
  }
  const rows = await allPages((cursor) => journal.turns({ limit: 2, cursor }));
  expect(rows.map(({ turnId }) => turnId)).toEqual(ids.toReversed());
  expect(rows[0]).toMatchObject({ status: 'ok', reason: 'message', node: worker, errorCode: null });
  expect((await journal.turns({ limit: 9, tenantId })).rows).toHaveLength(3);
});
