import { describe, expect, it } from 'vitest';
import { cursorOf, eventIdOf } from './stream-filter.ts';

describe('where a reader goes on', () => {
  it('is the id it saw last, inside a seq or behind it, before anything the address says', () => {
    for (const cursor of [
      { seq: 7, told: 0 },
      { seq: 7, told: 2 },
    ])
      expect(cursorOf({ after: 1 }, eventIdOf(cursor))).toEqual(cursor);
    expect(cursorOf({ lastSeq: 3 }, undefined)).toEqual({ seq: 3, told: 0 });
    expect(cursorOf({}, undefined)).toBeNull();
  });

  it('is refused when it is no id: to begin now would hide what was missed', () => {
    for (const id of ['garbage', '4.', '-1', ['1', '2']]) expect(() => cursorOf({}, id)).toThrow('Last-Event-ID');
  });
});
