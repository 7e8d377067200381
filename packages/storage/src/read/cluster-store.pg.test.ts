import { randomUUID } from 'node:crypto';
import type { BootId, EventId, LaneId, TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { allPages, openReadStage, type ReadStage } from '../testing/read-stage.ts';

let read: ReadStage;
beforeAll(async () => {
  read = await openReadStage(inject('urls'));
});
afterAll(() => read.close());

describe('workers', () => {
  it('are listed newest first, with the partitions they own and who leads, and can be narrowed', async () => {
    const { stage, cluster } = read;
    const ids: BootId[] = [];
    for (let i = 0; i < 5; i++) ids.push(await stage.worker());
    const [dead, , owner, leader] = ids;
    await stage.kill(dead as BootId);
    await stage.ownership.acquire(owner as BootId, [3, 1]);
    await stage.repair.lead('coordinator', leader as BootId, 3000);
    const rows = await allPages((cursor) => cluster.workers({ limit: 2, cursor }));
    expect(rows.map(({ bootId }) => bootId)).toEqual(ids.toReversed());
    expect(rows.find(({ bootId }) => bootId === owner)).toMatchObject({
      partitions: [1, 3],
      state: 'live',
      leader: false,
    });
    expect(rows.find(({ bootId }) => bootId === leader)).toMatchObject({ partitions: [], leader: true });
    const states = async (state: 'open' | 'dead' | 'gone') =>
      (await cluster.workers({ limit: 50, state })).rows.map(({ bootId }) => bootId);
    expect(await states('dead')).toEqual([dead]);
    expect(await states('open')).toHaveLength(4);
    expect(await states('gone')).toEqual([]);
    expect((await cluster.workers({ limit: 50, kind: 'ingress' })).rows).toEqual([]);
  });
});

describe('partitions', () => {
  it('are listed by number with their owner, page after page', async () => {
    const { stage, cluster } = read;
    const owner = await stage.worker();
    await stage.ownership.acquire(owner, [7]);
    const rows = await allPages((cursor) => cluster.partitions({ limit: 5, cursor }));
    expect(rows.map(({ id }) => id)).toEqual(Array.from({ length: 16 }, (_, id) => id));
    expect(rows[7]).toMatchObject({ owner, ownerState: 'live' });
    expect(rows[15]).toMatchObject({ owner: null, ownerState: null });
    expect((await cluster.partitions({ limit: 50, owner })).rows.map(({ id }) => id)).toEqual([7]);
  });
});

describe('lanes and events', () => {
  let tenants: TenantId[];
  beforeAll(async () => {
    const { stage } = read;
    const worker = await stage.worker();
    tenants = [await read.tenant('one'), await read.tenant('two')];
    for (const tenantId of tenants) {
      const laneOf = (key: string) => stage.lane(tenantId, key);
      const [running, idle] = [laneOf('running'), laneOf('idle')];
      const [suspended, resuming] = [laneOf('suspended'), laneOf('resuming')];
      for (const lane of [running, laneOf('queued'), idle, suspended, resuming]) await stage.send(lane, 'x');
      await stage.claim(worker, running);
      await stage.send(running, 'waits');
      for (const lane of [idle, suspended]) await stage.commit(worker, await stage.claim(worker, lane));
      await stage.rows('update tk.lanes set suspended = true where id = $1', [suspended.laneId]);
      const { fence } = await stage.claim(worker, resuming);
      await stage.lanes.handBack(worker, [{ lane: resuming, fence, hadEffect: true, reason: 'local_failure' }]);
    }
  });

  it('lanes are listed over all tenants, each once, and by what they do', async () => {
    const { cluster } = read;
    const rows = await allPages((cursor) => cluster.lanes({ limit: 3, cursor }));
    expect(rows).toHaveLength(10);
    expect(new Set(rows.map(({ laneId }) => laneId)).size).toBe(10);
    const [, tenantId] = tenants;
    const keys = async (state: 'running' | 'queued' | 'resuming' | 'suspended' | 'paused') =>
      (await cluster.lanes({ limit: 50, tenantId, state })).rows.map(({ sessionKey }) => sessionKey).sort();
    expect(await keys('running')).toEqual(['running']);
    expect(await keys('queued')).toEqual(['queued', 'resuming']);
    expect(await keys('resuming')).toEqual(['resuming']);
    expect(await keys('suspended')).toEqual(['suspended']);
    expect(await keys('paused')).toEqual([]);
    const running = rows.find((row) => row.tenantId === tenantId && row.sessionKey === 'running');
    expect(running).toMatchObject({
      queued: 2,
      tenantName: 'two',
      agentName: 'main',
      partition: (running?.slot ?? 0) % 16,
    });
    expect(rows.find((row) => row.tenantId === tenantId && row.sessionKey === 'idle')).toMatchObject({
      queued: 0,
      turnId: null,
      bootId: null,
    });
  });

  it('events are listed over all tenants, newest first, and by tenant and status', async () => {
    const { cluster } = read;
    const rows = await allPages((cursor) => cluster.events({ limit: 5, cursor }));
    const ids = rows.map(({ eventId }) => eventId);
    expect(ids).toHaveLength(12);
    expect(ids).toEqual(ids.toSorted().toReversed());
    const [tenantId] = tenants;
    const own = async (status?: 'queued' | 'running' | 'ok') =>
      (await cluster.events({ limit: 50, tenantId, status })).rows
        .map((row) => `${row.tenantName} ${row.sessionKey}`)
        .sort();
    expect(await own()).toHaveLength(6);
    expect(await own('queued')).toEqual(['one queued', 'one running']);
    expect(await own('running')).toEqual(['one resuming', 'one running']);
    expect(await own('ok')).toEqual(['one idle', 'one suspended']);
  });

  it('one lane and one event are found by their ids alone, whatever their tenant', async () => {
    const { cluster } = read;
    for (const lane of (await cluster.lanes({ limit: 50 })).rows) expect(await cluster.lane(lane.laneId)).toEqual(lane);
    for (const event of (await cluster.events({ limit: 50 })).rows)
      expect(await cluster.event(event.eventId)).toEqual(event);
    expect([await cluster.lane(randomUUID() as LaneId), await cluster.event(randomUUID() as EventId)]).toEqual([
      null,
      null,
    ]);
  });

  it('a cursor of one list is refused by another', async () => {
    const { cluster } = read;
    const { nextCursor } = await cluster.lanes({ limit: 1 });
    await expect(cluster.events({ limit: 1, cursor: nextCursor ?? '' })).rejects.toThrow(
      expect.objectContaining({ code: 'invalid_cursor' }),
    );
  });
});
