import type { LaneId, TenantId, WakeUp } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import { WakeUpSet } from './wake-up-set.ts';

function wakeUp(laneId: string, ord: string | null): WakeUp {
  return { lane: { slot: 1, tenantId: 'acme' as TenantId, laneId: laneId as LaneId }, ord };
}

test('each lane is named once, with the highest event that anyone told', () => {
  const set = new WakeUpSet(10);
  set.add([wakeUp('a', '9'), wakeUp('b', '200'), wakeUp('a', '10')]);
  set.add([wakeUp('b', '199'), wakeUp('a', '10')]);
  expect(set.take()).toEqual([wakeUp('a', '10'), wakeUp('b', '200')]);
});

test('a wake-up that says "look anyway" is not lost under one that names an event', () => {
  const set = new WakeUpSet(10);
  set.add([wakeUp('a', '9'), wakeUp('a', null), wakeUp('a', '10')]);
  expect(set.take()).toEqual([wakeUp('a', null)]);
});

test('more lanes than fit become a scan, and the set starts anew after it was taken', () => {
  const set = new WakeUpSet(2);
  set.add([wakeUp('a', '1'), wakeUp('b', '2'), wakeUp('c', '3')]);
  set.add([wakeUp('d', '4')]);
  expect(set.isEmpty).toBe(false);
  expect(set.take()).toBe('scan');
  expect(set.isEmpty).toBe(true);
  set.add([wakeUp('e', '5')]);
  expect(set.take()).toEqual([wakeUp('e', '5')]);
});
