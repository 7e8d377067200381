import { describe, expect, it } from 'vitest';
import { Places } from './places.ts';

function takenBy(places: Places, holder: string): number {
  let taken = 0;
  while (places.take(holder)) taken++;
  return taken;
}

describe('places of a node', () => {
  it('are never all one holder’s: others find some', () => {
    const places = new Places(64);
    expect(takenBy(places, 'flood')).toBe(48);
    expect(takenBy(places, 'other')).toBe(16);
  });

  it('can be taken again once they are given back, as many as there are', () => {
    const places = new Places(4);
    expect(takenBy(places, 'a')).toBe(3);
    expect(takenBy(places, 'b')).toBe(1);
    places.give('a');
    expect(places.take('b')).toBe(true);
    for (let i = 0; i < 2; i++) places.give('a');
    for (let i = 0; i < 2; i++) places.give('b');
    expect(places.take('c', 3)).toBe(true);
    expect(places.take('d', 2)).toBe(false);
  });

  it.each([1, 2, 3])('are %i for one holder where there are no more', (max) => {
    expect(takenBy(new Places(max), 'only')).toBe(max);
  });
});
