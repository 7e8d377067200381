import type { AccountId, BootId } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openReadStage, type ReadStage } from '../testing/read-stage.ts';
import { freshId } from '../testing/stage.ts';

let read: ReadStage;
let worker: BootId;
beforeAll(async () => {
  read = await openReadStage(inject('urls'));
  worker = await read.stage.worker();
});
afterAll(() => read.close());

describe('the timeline of an event', () => {
  it('tells its whole life: who accepted it, each try with its worker, its end, and its send', async () => {
    const { stage, timelines } = read;
    const tenantId = await read.tenant('whole');
    const lane = stage.lane(tenantId, 'key');
    const other = await stage.worker();
    await read.exchange(worker, lane, 'before');
    const accountId = freshId<AccountId>();
    const eventId = await stage.send(lane, 'hello', { accountId });
    const first = await stage.claim(worker, lane);
    await stage.lanes.handBack(worker, [{ lane, fence: first.fence, hadEffect: true, reason: 'local_failure' }]);
    const second = await stage.claim(other, lane);
    const midway = await timelines.of(tenantId, eventId);
    expect(midway?.run.status).toBe('running');
    expect(midway?.entries.map(({ step, attempt }) => [step, attempt])).toEqual([
      ['accepted', null],
      ['claimed', 1],
      ['turn_ended', 1],
      ['claimed', 2],
    ]);
    await stage.commit(other, second, { owed: { kind: 'send', accountId, sendNow: false } });
    await read.exchange(worker, lane, 'after');

    const life = await timelines.of(tenantId, eventId);
    const turn = (turnId: string, node: BootId, attempt: number) => ({ turnId, node, attempt });
    expect(life?.entries).toMatchObject([
      { step: 'accepted', node: expect.any(String), turnId: null },
      { step: 'claimed', reason: 'message', ...turn(first.fence.turnId, worker, 1) },
      { step: 'turn_ended', status: 'handed_back', ...turn(first.fence.turnId, worker, 1) },
      { step: 'claimed', reason: 'resume', ...turn(second.fence.turnId, other, 2) },
      { step: 'turn_ended', status: 'ok', ...turn(second.fence.turnId, other, 2) },
      { step: 'settled', status: 'ok', errorCode: null },
      { step: 'delivery', status: 'pending', attempt: 0, turnId: second.fence.turnId },
    ]);
    expect(life?.entries.slice(1, -1).map(({ nodeName }) => nodeName)).toEqual([...Array(4).fill('w'), null]);
    const times = life?.entries.map(({ at }) => at.getTime()) ?? [];
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });

  it('of one that no turn took holds how it came and how it ended', async () => {
    const { stage, timelines } = read;
    const tenantId = await read.tenant('short');
    const eventId = await stage.send(stage.lane(tenantId, 'key'), 'never mind');
    await stage.control.cancelRun(tenantId, eventId);
    const life = await timelines.of(tenantId, eventId);
    expect(life?.entries.map(({ step, status }) => [step, status])).toEqual([
      ['accepted', null],
      ['settled', 'cancelled'],
    ]);
  });

  it('says why a turn failed', async () => {
    const { stage, timelines } = read;
    const tenantId = await read.tenant('failed');
    const lane = stage.lane(tenantId, 'key');
    const eventId = await stage.send(lane, 'x');
    const error = { code: 'model_error' };
    await stage.commit(worker, await stage.claim(worker, lane), { status: 'error', reply: null, owed: null, error });
    const life = await timelines.of(tenantId, eventId);
    expect(life?.entries.slice(-2)).toMatchObject([
      { step: 'turn_ended', status: 'error', errorCode: 'model_error' },
      { step: 'settled', status: 'error', errorCode: 'model_error' },
    ]);
  });
});
