import { describe, expect, it } from 'vitest';
import type { Clock } from '../clock.ts';
import { FreshCache } from './fresh-cache.ts';
import { MissGate } from './miss-gate.ts';

function setUp(load: (key: string) => Promise<string | null>, entriesMax = 10) {
  const state = { atMs: 0, reads: [] as string[] };
  const clock: Clock = { nowMs: () => state.atMs, monotonicMs: () => state.atMs, sleep: () => Promise.resolve() };
  const cache = new FreshCache<string, string>({
    clock,
    staleMs: 1000,
    missingMs: 100,
    entriesMax,
    missGate: new MissGate({ clock, runningMax: 1, waitingMax: 2, waitMs: 1000 }),
    load: (key) => {
      state.reads.push(key);
      return load(key);
    },
  });
  return { state, cache };
}

describe('FreshCache', () => {
  it('reads a key once for callers that come together, and again for none while the value is young', async () => {
    const { state, cache } = setUp(async (key) => `value of ${key}`);
    expect(await Promise.all([cache.get('a'), cache.get('a')])).toEqual(['value of a', 'value of a']);
    state.atMs = 499;
    await cache.get('a');
    expect(state.reads).toEqual(['a']);
  });

  it('never answers a value older than the limit, counted from before its read', async () => {
    let answer = 'old';
    const { state, cache } = setUp(async () => {
      state.atMs += 100;
      return answer;
    });
    await cache.get('a');
    answer = 'new';
    state.atMs = 1000;
    expect(await cache.get('a')).toBe('new');
  });

  it('answers the old value at once and reads behind it from half the limit on', async () => {
    let answer = 'old';
    const { state, cache } = setUp(async () => answer);
    await cache.get('a');
    answer = 'new';
    state.atMs = 500;
    expect(await cache.get('a')).toBe('old');
    await Promise.resolve();
    await Promise.resolve();
    expect(await cache.get('a')).toBe('new');
    expect(state.reads).toHaveLength(2);
  });

  it('keeps serving while a read behind fails, and shows the failure once nothing fresh is left', async () => {
    let fails = false;
    const { state, cache } = setUp(async () => {
      if (fails) throw new Error('store away');
      return 'value';
    });
    await cache.get('a');
    fails = true;
    state.atMs = 900;
    expect(await cache.get('a')).toBe('value');
    state.atMs = 1000;
    await expect(cache.get('a')).rejects.toThrow('store away');
    fails = false;
    expect(await cache.get('a')).toBe('value');
  });

  it('remembers for a moment what was missing, or went missing', async () => {
    let answer: string | null = null;
    const { state, cache } = setUp(async () => answer);
    expect(await cache.get('a')).toBeNull();
    answer = 'made';
    state.atMs = 99;
    expect(await cache.get('a')).toBeNull();
    state.atMs = 100;
    expect(await cache.get('a')).toBe('made');
    answer = null;
    state.atMs = 1100;
    expect(await cache.get('a')).toBeNull();
    expect(await cache.get('a')).toBeNull();
    expect(state.reads).toHaveLength(3);
  });

  it('remembers only so many that were missing', async () => {
    const { state, cache } = setUp(async () => null, 2);
    for (const key of ['a', 'b', 'c', 'c', 'a']) await cache.get(key);
    expect(state.reads).toEqual(['a', 'b', 'c', 'a']);
  });

  it('reads a known key again at once while a flood of unknown ones waits, of which few are read', async () => {
    const stuck = Promise.withResolvers<null>();
    const { state, cache } = setUp((key) => (key === 'known' ? Promise.resolve('value') : stuck.promise));
    await cache.get('known');
    const flood = ['a', 'b', 'c'].map((key) => cache.get(key));
    await expect(cache.get('d')).rejects.toThrow(expect.objectContaining({ code: 'store_unavailable' }));
    state.atMs = 1000;
    expect(await cache.get('known')).toBe('value');
    expect(state.reads).toEqual(['known', 'a', 'known']);
    stuck.resolve(null);
    expect(await Promise.all(flood)).toEqual([null, null, null]);
    expect(state.reads).toEqual(['known', 'a', 'known', 'b', 'c']);
  });

  it('refuses an unknown key that waited too long, and reads the next', async () => {
    const stuck = Promise.withResolvers<string>();
    const { state, cache } = setUp(() => stuck.promise);
    const [first, late] = [cache.get('a'), cache.get('b')];
    state.atMs = 1001;
    const next = cache.get('c');
    stuck.resolve('value');
    await expect(late).rejects.toThrow(expect.objectContaining({ code: 'store_unavailable' }));
    expect([await first, await next, await cache.get('d')]).toEqual(['value', 'value', 'value']);
  });

  it('stays within its size and drops the least recently used', async () => {
    const { state, cache } = setUp(async (key) => key, 2);
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.get(key);
    expect(state.reads).toEqual(['a', 'b', 'c', 'b']);
  });
});
