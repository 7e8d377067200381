import type { BootId, LaneId, LiveEvent, TenantId, TurnId } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import {
  readGoodbye,
  readHint,
  readLiveEvent,
  readStopTurn,
  readWatch,
  writeGoodbye,
  writeHint,
  writeLiveEvent,
  writeStopTurn,
  writeWatch,
} from './bus.ts';

const uuid = '0193b2c4-7d3f-7abc-8def-0123456789ab';

test('messages arrive as they were sent', () => {
  const event: LiveEvent = {
    type: 'message.delta',
    at: '2026-11-30T00:00:00.000Z',
    sessionKey: 'agent:main:api:dm:1',
    turnId: 'trn_1',
    attempt: 2,
    data: { part: 0, offset: 3, text: 'naïve ☃' },
  };
  const hint = [{ lane: { slot: 0, tenantId: uuid as TenantId, laneId: uuid as LaneId }, ord: '17' }];

  expect(readLiveEvent(writeLiveEvent(event))).toEqual(event);
  expect(readHint(writeHint(hint))).toEqual(hint);
  expect(readHint(writeHint('scan'))).toBe('scan');
  expect(readStopTurn(writeStopTurn(uuid as TurnId))).toBe(uuid);
  expect(readGoodbye(writeGoodbye(uuid as BootId))).toBe(uuid);
  for (const tenants of [[], [uuid as TenantId]]) {
    const watch = { lanes: [uuid as LaneId], tenants };
    expect(readWatch(writeWatch(watch))).toEqual(watch);
  }
});

test('malformed messages and unknown versions are told apart, without a throw', () => {
  const foreign = ['', '{', '[]', 'null', '{"v":2}', '{"v":1}', `{"v":1,"turnId":"x","bootId":7,"type":1}`];
  for (const text of foreign) {
    const read = [readLiveEvent(text), readHint(text), readStopTurn(text), readGoodbye(text), readWatch(text)];
    expect(read).toEqual(read.map(() => null));
  }
});
