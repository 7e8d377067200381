import type { EventId, LaneId, LiveEvent, TenantId, TurnId, WakeUp } from '@turnkeeper/core';
import { VirtualClock } from '@turnkeeper/core/testing';
import { expect, it } from 'vitest';
import { announceControl, type ControlledLane } from './announce-end.ts';

const lane = { slot: 1, tenantId: 'tenant' as TenantId, laneId: 'lane' as LaneId };
const PLAIN: ControlledLane = { lane, sessionKey: 'k', sessionId: null, seq: '7', turnId: null, ended: [] };
const ID = '00000000-0000-7000-8000-000000000001';

function announced(controlled: ControlledLane) {
  const events: LiveEvent[] = [];
  const woken: WakeUp[] = [];
  announceControl({
    wakeUps: { wake: (_partition, wakeUps) => woken.push(...wakeUps) },
    live: { publish: (_lane, event) => events.push(event) },
    slots: { partitionOf: () => 0 },
    clock: new VirtualClock(),
    settled: { inc: () => undefined },
  })(controlled);
  return { told: events.map(({ type, seq }) => [type, seq]), woken };
}

it('tells readers the seq of every command, and the owner that there may be something to do', () => {
  expect(announced(PLAIN)).toEqual({ told: [['session.updated', '7']], woken: [{ lane, ord: null }] });
});

it('tells of the turn and of the runs that were ended', () => {
  const { told, woken } = announced({ ...PLAIN, turnId: ID as TurnId, ended: [ID as EventId] });
  expect(told).toEqual([
    ['turn.interrupted', '7'],
    ['run.settled', undefined],
  ]);
  expect(woken).toEqual([{ lane, ord: null }]);
});
