import type { LiveEvent } from '@turnkeeper/core';
import { VirtualClock } from '@turnkeeper/core/testing';
import { expect, it } from 'vitest';
import type { Visitor } from '../visitors/visitor.ts';
import { VisitorFrames } from './visitor-frames.ts';

function visit() {
  const [clock, told] = [new VirtualClock(), [] as LiveEvent[]];
  const visitor = {
    ...{ kind: 'visitor', sub: 'ann', name: null, account: null, rooms: ['u_ann', 'lobby'], expiresAtMs: 0 },
    agent: { name: 'main', keyPolicy: { identityLinks: {}, scope: 'per_user', dmScope: 'main', name: 'standard' } },
  } as never as Visitor;
  const parts = {
    clock,
    acceptMessage: { laneOf: ({ target }: { target: { sessionKey: string } }) => ({ laneId: target.sessionKey }) },
    live: { isWatched: () => true, publish: (_lane: unknown, event: LiveEvent) => told.push(event) },
  } as never;
  const frames = new VisitorFrames(visitor, { link: { id: 'a' } as never, rooms: {} as never, parts });
  const types = async (active: boolean, room = 'u_ann') => frames.handle({ type: 'typing', room, active });
  return { clock, types, actives: () => told.map(({ data }) => (data as { active: boolean }).active) };
}

it('who types is told of once a second, however often it is taken back', async () => {
  const { clock, types, actives } = visit();
  for (let i = 0; i < 30; i++) {
    await types(true);
    await types(false);
  }
  expect(actives()).toEqual([true, false]);
  await clock.advance(999);
  await types(true);
  expect(actives()).toHaveLength(2);
  await clock.advance(1);
  await types(true);
  expect(actives()).toEqual([true, false, true]);
});

it('what was not told to have begun does not stop', async () => {
  const { types, actives } = visit();
  await types(false);
  await types(true);
  await types(false, 'lobby');
  expect(actives()).toEqual([true]);
});
