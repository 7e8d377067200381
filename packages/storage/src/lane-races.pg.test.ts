import type { BootId, ClaimedTurn, MessageId, TenantId } from '@turnkeeper/core';
import { SeededIds } from '@turnkeeper/core/testing';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { openDatabase } from './database.ts';
import { PostgresLaneStore } from './lane-store.ts';
import { claimOf, commitOf, freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';

let stage: Stage;
let tenant: TenantId;
let worker: BootId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  tenant = await stage.tenant('acme');
  worker = await stage.worker();
});
afterAll(() => stage.close());

async function laneWith(...texts: string[]): Promise<StageLane> {
  const lane = stage.lane(tenant, `lane-${names++}`);
  for (const text of texts) await stage.send(lane, text);
  return lane;
}
const stepOf = (turn: ClaimedTurn) => ({
  lane: turn.lane,
  fence: turn.fence,
  messageId: freshId<MessageId>(),
  seq: turn.seq,
  n: 1,
  role: 'tool_result' as const,
  body: {},
});

/** Runs `work` while another transaction holds the lane's row. */
async function whileHeld<T>(lane: StageLane, work: (end: (sql: string) => Promise<void>) => Promise<T>): Promise<T> {
  const rival = await stage.root.connect();
  try {
    await rival.query('begin');
    await rival.query('select 1 from tk.lanes where id = $1 for no key update', [lane.laneId]);
    return await work(async (sql) => {
      await rival.query(sql);
      await rival.query('commit');
    });
  } finally {
    await rival.query('rollback');
    rival.release();
  }
}

test('a lane that another holds is skipped at once, the others of the batch are claimed', async () => {
  const [held, free] = [await laneWith('a'), await laneWith('a')];
  await whileHeld(held, async () => {
    expect(await stage.lanes.claim(worker, [held, free].map(claimOf))).toMatchObject([
      { result: 'skipped' },
      { result: 'claimed' },
    ]);
  });
});

test('a lane claimed with waiting gets its turn when it is let go, and is given up in time when it is not', async () => {
  const lane = await laneWith('a');
  await whileHeld(lane, async (end) => {
    const waiting = stage.lanes.claim(worker, [claimOf(lane)], { wait: true });
    await stage.blocked('claim');
    await end('select 1');
    expect(await waiting).toMatchObject([{ result: 'claimed' }]);
  });
  const engine = openDatabase({
    url: stage.fresh.url,
    role: 'tk_engine',
    poolMax: 1,
    applicationName: 'as-in-production',
  });
  const other = await laneWith('a');
  await whileHeld(other, async () => {
    const claim = new PostgresLaneStore(engine).claim(worker, [claimOf(other)], { wait: true });
    await expect(claim).rejects.toMatchObject({ failure: 'busy', state: '55P03' });
  });
  await engine.close();
});

test('a claim that waited for one lane decides on what the others are by then', async () => {
  // locks are taken in the order of slot and id: the held lane comes first, so the other is not locked while waiting
  const pair = [await laneWith('a'), await laneWith('a')].sort(
    (a, b) => a.slot - b.slot || (a.laneId < b.laneId ? -1 : 1),
  );
  const [held, other] = pair;
  if (held === undefined || other === undefined) throw new Error('no lanes');
  await whileHeld(held, async (end) => {
    const waiting = stage.lanes.claim(worker, [other, held].map(claimOf), { wait: true });
    await stage.blocked('claim');
    await stage.commit(worker, await stage.claim(worker, other));
    await end('select 1');
    expect(await waiting).toMatchObject([{ result: 'empty' }, { result: 'claimed' }]);
  });
});

// Seen to fail with a guard that reads the lane without locking it: the step and the reply are stored after the stop.
test('a step or a commit that waits behind a change of the lane is refused when it was fenced off', async () => {
  for (const step of ['append', 'commit', 'hand_back'] as const) {
    const lane = await laneWith('a');
    const turn = await stage.claim(worker, lane);
    await whileHeld(lane, async (end) => {
      const late =
        step === 'append'
          ? stage.lanes.append([stepOf(turn)])
          : step === 'commit'
            ? stage.lanes.commit(worker, [commitOf(turn)])
            : stage.lanes.handBack(worker, [{ ...turn, hadEffect: true, reason: 'local_failure' }]);
      await stage.blocked(step);
      await end(`update tk.lanes set fence = fence + 1, turn_id = null where id = '${lane.laneId}'`);
      expect(await late).toEqual([{ append: 'stale', commit: { result: 'stale' }, hand_back: false }[step]]);
    });
    expect(await stage.rows('select 1 from tk.messages where lane_id = $1', [lane.laneId])).toEqual([]);
  }
});

test('steps of one lane do not wait for each other', async () => {
  const lane = await laneWith('a');
  const turn = await stage.claim(worker, lane);
  const rival = await stage.root.connect();
  try {
    await rival.query('begin');
    await rival.query('select 1 from tk.lanes where id = $1 for share', [lane.laneId]);
    expect(await stage.lanes.append([stepOf(turn)])).toEqual(['ok']);
  } finally {
    await rival.query('rollback');
    rival.release();
  }
});

// Seen to fail with a commit that takes its locks in the order of the batch: deadlocks.
test('workers that claim and commit the same lanes in crossed orders never deadlock; every event is answered once, in order', async () => {
  const lanes = await Promise.all(Array.from({ length: 12 }, () => laneWith('0', '1', '2', '3', '4', '5')));
  const workers = await Promise.all([1, 2, 3].map(() => stage.worker()));
  const run = async (bootId: BootId, seed: number) => {
    const ids = new SeededIds(seed);
    const random = <T>(list: readonly T[]) => list.filter(() => ids.random() < 0.6).sort(() => ids.random() - 0.5);
    let turns = 0;
    for (let round = 0; round < 60; round++) {
      const claimed = (await stage.lanes.claim(bootId, random(lanes).map(claimOf))).filter(
        (turn) => turn.result === 'claimed',
      );
      turns += claimed.length;
      // the same batch twice at once, as when an answer is late: each turn is committed by one of the two
      const commits = claimed.map((turn) => commitOf(turn));
      const both = [stage.lanes.commit(bootId, commits), stage.lanes.commit(bootId, [...commits].reverse())];
      const results = (await Promise.all(both)).flat().map((result) => result.result);
      expect(results.filter((result) => result === 'ok')).toHaveLength(claimed.length);
      expect(results.filter((result) => result === 'again')).toHaveLength(claimed.length);
    }
    return turns;
  };
  const turns = await Promise.all(workers.map((bootId, i) => run(bootId, i + 1)));
  expect(turns.reduce((a, b) => a + b)).toBe(72);
  for (const lane of lanes) {
    const replies = await stage.rows<{ text: string }>(
      "select body ->> 'text' as text from tk.messages where lane_id = $1 order by seq",
      [lane.laneId],
    );
    expect(replies.map((reply) => reply.text)).toEqual(['re: 0', 're: 1', 're: 2', 're: 3', 're: 4', 're: 5']);
  }
});

test('one bad reply in a batch refuses the batch, which can be repeated without it', async () => {
  const lanes = await Promise.all(Array.from({ length: 5 }, () => laneWith('a')));
  const turns = (await stage.lanes.claim(worker, lanes.map(claimOf))).filter((turn) => turn.result === 'claimed');
  const commits = turns.map((turn, i) => commitOf(turn, i === 2 ? { reply: { text: 'bad\u0000' } } : {}));
  await expect(stage.lanes.commit(worker, commits)).rejects.toMatchObject({ failure: 'row' });
  for (const lane of lanes)
    expect(await stage.rows('select 1 from tk.messages where lane_id = $1', [lane.laneId])).toEqual([]);
  const good = await stage.lanes.commit(
    worker,
    commits.filter((_, i) => i !== 2),
  );
  expect(good.map((result) => result.result)).toEqual(['ok', 'ok', 'ok', 'ok']);
  const guilty = turns[2];
  if (guilty === undefined) throw new Error('no turn');
  expect(
    await stage.commit(worker, guilty, { status: 'error', reply: null, owed: null, error: { code: 'internal' } }),
  ).toMatchObject({ result: 'ok' });
});
