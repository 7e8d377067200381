import { describe, expect, it } from 'vitest';
import { isToolLoop, type ToolStep } from './tool-loop.ts';

const steps = (count: number, step: (n: number) => Partial<ToolStep> = () => ({})): ToolStep[] =>
  Array.from({ length: count }, (_, n) => ({
    name: 'look',
    arguments: { page: n, q: 'Pier' },
    result: 'none',
    ...step(n),
  }));
const next = { name: 'look', arguments: { q: 'pier ', page: 40 } };

describe('a tool that is called again and again', () => {
  it('is a loop although a counter, the case, blanks or the order of names differ', () => {
    expect(isToolLoop(steps(4), next)).toBe(true);
    expect(isToolLoop(steps(3), next)).toBe(false);
  });

  it.each([
    ['another tool stands between', steps(6, (n) => (n === 4 ? { name: 'wait' } : {}))],
    ['a result was new', steps(6, (n) => (n === 5 ? { result: 'found' } : {}))],
    ['it is asked for something else', steps(6, (n) => (n === 3 ? { arguments: { q: 'boat', page: 1 } } : {}))],
  ])('is none when %s', (_why, earlier) => {
    expect(isToolLoop(earlier, next)).toBe(false);
  });

  it('is none when the call is another one', () => {
    expect(isToolLoop(steps(9), { ...next, arguments: { q: 'boat', page: 40 } })).toBe(false);
  });
});
