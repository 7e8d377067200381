import { describe, expect, it } from 'vitest';
import { cursorOf, eventIdOf, streamFilter } from './stream-filter.ts';

describe('where a reader goes on', () => {
  it('is the id it saw last, inside a seq or behind it, before anything the address says', () => {
    for (const cursor of [
      { seq: 7, told: 0 },
      { seq: 7, told: 2 },
    ])
      expect(cursorOf({ after: { seq: 1, told: 0 } }, eventIdOf(cursor))).toEqual(cursor);
    expect(cursorOf({ lastSeq: { seq: 3, told: 0 } }, undefined)).toEqual({ seq: 3, told: 0 });
    expect(cursorOf({}, undefined)).toBeNull();
  });

  it('is refused when it is no id: to begin now would hide what was missed', () => {
    for (const id of ['garbage', '4.', '-1', ['1', '2']]) expect(() => cursorOf({}, id)).toThrow('Last-Event-ID');
  });
});

describe('what a reader gets of tools', () => {
  const passing = (query: Parameters<typeof streamFilter>[0]) =>
    ['tool.started', 'step.committed', 'tool.delta', 'reasoning.delta', 'message.delta'].filter(streamFilter(query));

  it('is their names, unless it asks for less or for more', () => {
    expect(passing({})).toEqual(['tool.started', 'step.committed', 'message.delta']);
    expect(passing({ tools: 'none' })).toEqual(['message.delta']);
    expect(passing({ tools: 'full' })).toHaveLength(5);
    expect(passing({ tools: 'full', deltas: 'false' })).toEqual(['tool.started', 'step.committed']);
  });

  it('is what it names', () => {
    expect(passing({ types: ['reasoning.delta'] })).toEqual(['reasoning.delta']);
    expect(passing({ types: ['reasoning.delta', 'tool.started'], tools: 'names' })).toEqual(['tool.started']);
  });

  it('says nothing about what is said of the stream itself', () => {
    expect(streamFilter({ types: ['turn.finished'], deltas: 'false', tools: 'none' })('stream.open')).toBe(true);
  });
});
