import type { LaneId, TenantId, WakeUp } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import { readActivation, WAKE_UP_LANES_MAX, writeActivation } from './jobs.ts';

const wakeUp: WakeUp = {
  lane: {
    slot: 4095,
    tenantId: '0193b2c4-7d3f-7abc-8def-0123456789ab' as TenantId,
    laneId: '5d41402a-bc4b-2a76-b971-9d911017c592' as LaneId,
  },
  ord: '9223372036854775807',
};

/** As the reader gets it: parsed JSON. */
function sent(activation: unknown): unknown {
  return JSON.parse(JSON.stringify(activation));
}

test('an activation arrives as it was sent', () => {
  const wakeUps = [wakeUp, { ...wakeUp, ord: null }];
  expect(readActivation(sent(writeActivation(wakeUps)))).toEqual(wakeUps);
  expect(readActivation(sent(writeActivation('scan')))).toBe('scan');
});

test('more lanes than an activation may name become a scan', () => {
  const many = Array.from({ length: WAKE_UP_LANES_MAX + 1 }, () => wakeUp);
  expect(readActivation(sent(writeActivation(many)))).toBe('scan');
  expect(readActivation(sent(writeActivation(many.slice(1))))).toHaveLength(WAKE_UP_LANES_MAX);
});

test('what is no activation of a known version is told apart, without a throw', () => {
  const { slot, tenantId, laneId } = wakeUp.lane;
  const foreign = [
    null,
    'text',
    {},
    { v: 1 },
    { v: 2, scan: true },
    { v: 1, lanes: 'all' },
    { v: 1, lanes: [[4096, tenantId, laneId, null]] },
    { v: 1, lanes: [[slot, 'acme', laneId, null]] },
    { v: 1, lanes: [[slot, tenantId, laneId, '-1']] },
    { v: 1, lanes: [[slot, tenantId, laneId]] },
    { v: 1, lanes: Array.from({ length: WAKE_UP_LANES_MAX + 1 }, () => [slot, tenantId, laneId, null]) },
  ];
  expect(foreign.map(readActivation)).toEqual(foreign.map(() => null));
});

test('fields of a later minor change are ignored', () => {
  expect(readActivation({ v: 1, scan: true, since: 'later' })).toBe('scan');
});
