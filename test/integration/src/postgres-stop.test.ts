import type { LaneStore, TenantId } from '@turnkeeper/core';
import { type LocalServices, startLocalServices } from '@turnkeeper/platform/local-services';
import { openDatabase, PostgresLaneStore } from '@turnkeeper/storage';
import { claimOf, commitOf, message, openStage, type Stage } from '@turnkeeper/storage/testing';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

let services: LocalServices;
let stage: Stage;
let tenant: TenantId;

beforeAll(async () => {
  services = await startLocalServices({ need: ['postgres'], env: {}, prefer: 'program' });
  stage = await openStage(services.urls);
  tenant = await stage.tenant('acme');
});
afterAll(async () => {
  await stage.close();
  await services.stop();
});

/** As in a crash of the machine, but for what the disk has. */
async function stopAndStart(): Promise<void> {
  await services.stopService('postgres', 'immediate');
  await services.startService('postgres');
  await vi.waitFor(() => stage.lanes.look([]), { timeout: 20_000, interval: 50 });
}

const onlyTurn = (claimed: Awaited<ReturnType<LaneStore['claim']>>) => {
  const [turn] = claimed;
  if (turn?.result !== 'claimed') throw new Error(`not claimed: ${turn?.result}`);
  return turn;
};

test('what was answered before an immediate stop is there after it: the accepted event, the claim, the reply', async () => {
  const worker = await stage.worker();
  const [accepted, claimed, answered] = ['accepted', 'claimed', 'answered'].map((key) => stage.lane(tenant, key));
  if (accepted === undefined || claimed === undefined || answered === undefined) throw new Error('no lanes');
  await stage.send(answered, 'a');
  await stage.commit(worker, await stage.claim(worker, answered));
  await stage.send(accepted, 'b');
  await stage.send(claimed, 'c');
  const turn = await stage.claim(worker, claimed);
  await stopAndStart();
  expect(await stage.lanes.look([accepted, claimed, answered])).toEqual([true, false, false]);
  expect(await stage.lanes.stillRunning([{ lane: claimed, turnId: turn.fence.turnId }])).toEqual([true]);
  expect(await stage.commit(worker, turn)).toMatchObject({ result: 'ok' });
  expect(await stage.rows("select body ->> 'text' as text from tk.messages order by at")).toEqual([
    { text: 're: a' },
    { text: 're: c' },
  ]);
});

test('a claim that an immediate stop takes back is made again under the same number, and only the new turn has effect', async () => {
  await stage.rows("alter system set wal_writer_delay = '10s'");
  await stage.rows('select pg_reload_conf()');
  const settings = { synchronous_commit: 'off' };
  const url = stage.fresh.url;
  const unflushed = openDatabase({ url, role: 'tk_engine', poolMax: 1, applicationName: 'unflushed', settings });
  const [before, after] = [await stage.worker(), await stage.worker()];
  const lane = stage.lane(tenant, 'lost');
  await stage.send(lane, 'a');
  const lost = onlyTurn(await new PostgresLaneStore(unflushed).claim(before, [claimOf(lane)]));
  await stopAndStart();
  await unflushed.close();

  expect(await stage.lanes.look([lane])).toEqual([true]);
  const current = await stage.claim(after, lane);
  expect(current.fence.fence).toBe(lost.fence.fence);
  expect(current.fence.turnId).not.toBe(lost.fence.turnId);
  expect(await stage.lanes.commit(before, [commitOf(lost)])).toEqual([{ result: 'stale' }]);
  expect(await stage.commit(after, current)).toMatchObject({ result: 'ok' });
  expect(await stage.commit(before, lost)).toEqual({ result: 'stale' });
  const replies = await stage.rows('select turn_id from tk.messages where lane_id = $1', [lane.laneId]);
  expect(replies).toEqual([{ turn_id: current.fence.turnId }]);
});

test('an accept in flight at an immediate stop is unknown, and is stored once when it is repeated with its ids', async () => {
  const lane = stage.lane(tenant, 'in flight');
  const items = Array.from({ length: 50 }, (_, i) => message(lane, `${i}`));
  const stopping = services.stopService('postgres', 'immediate');
  const outcomes: unknown[] = [];
  // one of these meets the stop; which one does not matter
  for (let done = false; !done; ) {
    const outcome = await stage.accept(items).catch((error: unknown) => error);
    done = outcome instanceof Error;
    outcomes.push(outcome);
  }
  expect(outcomes.at(-1)).toMatchObject({ failure: 'unknown', code: 'store_unavailable' });
  await stopping;
  await services.startService('postgres');
  const results = await vi.waitFor(() => stage.accept(items), { timeout: 20_000, interval: 50 });
  expect(results.every((result) => result.result === 'accepted')).toBe(true);
  expect(await stage.rows('select 1 from tk.events where lane_id = $1', [lane.laneId])).toHaveLength(50);
});
