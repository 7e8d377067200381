import { expect, it } from 'vitest';
import { ownWorkIn, type Room, type Visitor } from './visitor.ts';

const visitor = { sub: 'ann' } as Visitor;
const room = (name: string) => ({ room: name }) as Room;

it('may end whatever runs in the room that is named after it, and in any other its own work alone', () => {
  expect(ownWorkIn(visitor, room('u_ann'))).toEqual({});
  for (const name of ['u_bob', 'u_ann2', 'U_ann', 'ann', 'salon']) {
    expect(ownWorkIn(visitor, room(name)), name).toEqual({ onlyOf: 'ann' });
  }
});

it('may end its own work alone where the room is not known', () => {
  expect(ownWorkIn(visitor, null)).toEqual({ onlyOf: 'ann' });
});
