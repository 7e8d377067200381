import type { BootId, EventId, TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { allPages, openReadStage, type ReadStage } from '../testing/read-stage.ts';
import { freshId } from '../testing/stage.ts';

let read: ReadStage;
let worker: BootId;
beforeAll(async () => {
  read = await openReadStage(inject('urls'));
  worker = await read.stage.worker();
});
afterAll(() => read.close());

describe('a run', () => {
  it('is queued, then running with its turn, then ok with its reply', async () => {
    const { stage, runs } = read;
    const tenantId = await read.tenant('life');
    const lane = stage.lane(tenantId, 'key');
    const eventId = await stage.send(lane, 'hello');
    const other = await stage.send(lane, 'second');
    expect(await runs.get(tenantId, eventId)).toMatchObject({
      ...{ status: 'queued', attempts: 0, turnId: null, sessionId: null, reply: null, startedAt: null },
      ...{ sessionKey: 'key', lane: { slot: lane.slot, tenantId, laneId: lane.laneId } },
    });
    const turn = await stage.claim(worker, lane);
    const { turnId } = turn.fence;
    expect(await runs.get(tenantId, eventId)).toMatchObject({
      ...{ status: 'running', attempts: 1, turnId, sessionId: turn.sessionId, startedAt: turn.startedAt },
      ...{ finishedAt: null, reply: null },
    });
    expect((await runs.get(tenantId, other))?.status).toBe('queued');
    await stage.commit(worker, turn, { reply: { text: 'hi' } });
    const done = await runs.get(tenantId, eventId);
    expect(done).toMatchObject({ status: 'ok', attempts: 1, turnId, errorCode: null, reply: { text: 'hi' } });
    expect(done?.reply?.messageId).toEqual(expect.any(String));
    expect(BigInt(done?.reply?.seq ?? 0)).toBeGreaterThan(BigInt(turn.seq));
    expect(done?.finishedAt).toBeInstanceOf(Date);
  });

  it('shows each reply to its own event only', async () => {
    const { stage, runs } = read;
    const tenantId = await read.tenant('replies');
    const lane = stage.lane(tenantId, 'key');
    const texts = ['one', 'two', 'three'];
    const ids: EventId[] = [];
    for (const text of texts) {
      ids.push(await stage.send(lane, text));
      await stage.commit(worker, await stage.claim(worker, lane));
    }
    const found = await Promise.all(ids.map((id) => runs.get(tenantId, id)));
    expect(found.map((run) => run?.reply?.text)).toEqual(texts.map((text) => `re: ${text}`));
  });

  it('shows an error by its code, and a cancelled one', async () => {
    const { stage, runs } = read;
    const tenantId = await read.tenant('ends');
    const lane = stage.lane(tenantId, 'key');
    const failed = await stage.send(lane, 'fails');
    const error = { code: 'model_error', detail: 'x' };
    await stage.commit(worker, await stage.claim(worker, lane), { status: 'error', reply: null, owed: null, error });
    expect(await runs.get(tenantId, failed)).toMatchObject({ status: 'error', errorCode: 'model_error', reply: null });
    const cancelled = await stage.send(lane, 'cancelled');
    await stage.control.cancelRun(tenantId, cancelled);
    expect(await runs.get(tenantId, cancelled)).toMatchObject({ status: 'cancelled', attempts: 0 });
  });

  it('counts as running while it waits for its resume, and its tries add up', async () => {
    const { stage, runs } = read;
    const tenantId = await read.tenant('resumes');
    const lane = stage.lane(tenantId, 'key');
    const eventId = await stage.send(lane, 'hello');
    const lost = await stage.claim(worker, lane);
    await stage.lanes.handBack(worker, [{ lane, fence: lost.fence, hadEffect: true, reason: 'local_failure' }]);
    expect(await runs.get(tenantId, eventId)).toMatchObject({
      status: 'running',
      attempts: 1,
      turnId: lost.fence.turnId,
    });
    const resumed = await stage.claim(worker, lane);
    expect(await runs.get(tenantId, eventId)).toMatchObject({ attempts: 2, turnId: resumed.fence.turnId });
    await stage.commit(worker, resumed);
    expect(await runs.get(tenantId, eventId)).toMatchObject({ status: 'ok', attempts: 2 });
  });
});

describe('the list of runs', () => {
  it('leads through all of them, newest first, each once', async () => {
    const { stage, runs } = read;
    const tenantId = await read.tenant('many');
    const ids: EventId[] = [];
    for (let i = 0; i < 7; i++) ids.push(await stage.send(stage.lane(tenantId, `key-${i % 2}`), `m${i}`));
    for (const limit of [1, 3, 7, 50]) {
      const rows = await allPages((cursor) => runs.list(tenantId, { limit, cursor }));
      expect(rows.map((run) => run.runId)).toEqual(ids.toReversed());
    }
  });

  it('can be narrowed to a status, a key and an agent', async () => {
    const { stage, runs } = read;
    const tenantId = await read.tenant('narrow');
    const [a, b] = [stage.lane(tenantId, 'a'), stage.lane(tenantId, 'b')];
    await read.exchange(worker, a, 'done');
    await stage.send(a, 'running');
    await stage.claim(worker, a);
    await stage.send(a, 'queued');
    await stage.send(b, 'queued too');
    const statuses = async (filter: object) => {
      const { rows } = await runs.list(tenantId, { limit: 50, ...filter });
      return rows.map(({ status, sessionKey }) => `${status} ${sessionKey}`);
    };
    expect(await statuses({ status: 'running' })).toEqual(['running a']);
    expect(await statuses({ status: 'queued' })).toEqual(['queued b', 'queued a']);
    expect(await statuses({ status: 'ok' })).toEqual(['ok a']);
    expect(await statuses({ sessionKey: 'b' })).toEqual(['queued b']);
    expect(await statuses({ agentId: a.agentId, sessionKey: 'a', status: 'queued' })).toEqual(['queued a']);
    expect(await statuses({ agentId: freshId() })).toEqual([]);
  });

  it('refuses a cursor that it did not make', async () => {
    const tenantId = await read.tenant('cursors');
    for (const cursor of ['', 'x', 'AAAA', '🙂']) {
      await expect(read.runs.list(tenantId, { limit: 1, cursor })).rejects.toThrow(
        expect.objectContaining({ code: 'invalid_cursor' }),
      );
    }
  });
});

describe('byIds', () => {
  it('answers runs of many tenants at their places, in one statement', async () => {
    const { stage, runs } = read;
    const tenants = await Promise.all(['w1', 'w2', 'w3'].map((name) => read.tenant(name)));
    const wanted: { tenantId: TenantId; runId: EventId }[] = [];
    for (const tenantId of tenants) {
      const lane = stage.lane(tenantId, 'key');
      for (const text of ['a', 'b']) wanted.push({ tenantId, runId: await stage.send(lane, text) });
      await stage.commit(worker, await stage.claim(worker, lane));
    }
    const found = await runs.byIds([...wanted, { tenantId: freshId(), runId: freshId() }]);
    expect(found.map((run) => run?.status ?? null)).toEqual(['ok', 'queued', 'ok', 'queued', 'ok', 'queued', null]);
    expect(found.slice(0, 6).map((run) => run?.runId)).toEqual(wanted.map(({ runId }) => runId));
    expect(await runs.byIds([])).toEqual([]);
  });
});

describe('another tenant', () => {
  it('is answered like one that never was, by every read of runs', async () => {
    const { stage, runs, timelines } = read;
    const [mine, theirs] = [await read.tenant('mine'), await read.tenant('theirs')];
    const lane = stage.lane(theirs, 'key');
    const runId = await stage.send(lane, 'secret');
    expect(await runs.get(mine, runId)).toBeNull();
    expect(await timelines.of(mine, runId)).toBeNull();
    expect((await runs.list(mine, { limit: 50 })).rows).toEqual([]);
    expect((await runs.list(mine, { limit: 50, sessionKey: 'key', agentId: lane.agentId })).rows).toEqual([]);
    const foreign = { tenantId: mine, runId };
    expect(await runs.byIds([foreign])).toEqual([null]);
    const [own, foreignAgain] = await runs.byIds([{ tenantId: theirs, runId }, foreign]);
    expect([own?.runId, foreignAgain]).toEqual([runId, null]);
  });
});
