import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError, StoreError, type StoreFailure } from '../errors.ts';
import { SeededIds } from '../testing/seeded-ids.ts';
import { settled, VirtualClock } from '../testing/virtual-clock.ts';
import { Batcher, type BatcherOptions } from './batcher.ts';

type Options = BatcherOptions<string, string>;
type Flush = Options['flush'];

const failure = (kind: StoreFailure) => new StoreError({ failure: kind, state: 'XX000', message: kind });
const done: Flush = (items) => Promise.resolve(items.map((item) => `done ${item}`));

function batcherOf(flush: Flush, options: Partial<Options> = {}) {
  const clock = new VirtualClock();
  const sent: string[][] = [];
  const batcher = new Batcher<string, string>({
    name: 'test',
    flush: (items) => {
      sent.push([...items]);
      return flush(items);
    },
    itemsMax: 100,
    queueMax: 1000,
    clock,
    ids: new SeededIds(),
    onRowError: (item) => `refused ${item}`,
    retry: { attemptsMax: 5, baseMs: 10, capMs: 100 },
    ...options,
  });
  return { batcher, clock, sent };
}

/** A flush that answers only when the test says so. */
function heldFlush() {
  const waiting: (() => void)[] = [];
  const flush: Flush = (items) =>
    new Promise((resolve) => waiting.push(() => resolve(items.map((item) => `done ${item}`))));
  return {
    flush,
    async answer(): Promise<void> {
      waiting.shift()?.();
      await settled();
    },
  };
}

describe('batches', () => {
  it('counts answers, and says whether any is due', async () => {
    const held = heldFlush();
    const { batcher } = batcherOf(held.flush);
    expect(batcher.progress).toEqual({ isDue: false, steps: 0 });
    const first = batcher.add('a');
    await settled();
    expect(batcher.progress).toEqual({ isDue: true, steps: 0 });
    await held.answer();
    await first;
    await settled();
    expect(batcher.progress).toEqual({ isDue: false, steps: 1 });
  });

  it('sends a lone item in the same tick and holds no timer', async () => {
    const { batcher, clock, sent } = batcherOf(done);
    const answer = batcher.add('a');
    await Promise.resolve();
    expect(sent).toEqual([['a']]);
    expect(await answer).toBe('done a');
    expect(clock.sleeping).toBe(0);
  });

  it('puts what arrives while a batch is in flight into the next one', async () => {
    const held = heldFlush();
    const { batcher, sent } = batcherOf(held.flush);
    const answers = [batcher.add('a')];
    await settled();
    answers.push(batcher.add('b'), batcher.add('c'));
    await settled();
    expect(sent).toEqual([['a']]);
    await held.answer();
    await held.answer();
    expect(sent).toEqual([['a'], ['b', 'c']]);
    expect(await Promise.all(answers)).toEqual(['done a', 'done b', 'done c']);
  });

  it('ends a batch at its number of items and at its bytes, and sends a larger item alone', async () => {
    const { batcher, sent } = batcherOf(done, { itemsMax: 3, bytesMax: 5, bytesOf: (item) => item.length });
    await Promise.all(['aa', 'bb', 'cc', 'dddddddd', 'e', 'f', 'g', 'h'].map((item) => batcher.add(item)));
    expect(sent).toEqual([['aa', 'bb'], ['cc'], ['dddddddd'], ['e', 'f', 'g'], ['h']]);
  });

  it('never has two items of one key in flight, and keeps their order', async () => {
    const held = heldFlush();
    const { batcher, sent } = batcherOf(held.flush, { flushesMax: 2, distinctBy: (item) => item.charAt(0) });
    const answers = ['a1', 'a2', 'b1', 'a3', 'c1'].map((item) => batcher.add(item));
    await settled();
    expect(sent).toEqual([['a1', 'b1', 'c1']]);
    answers.push(batcher.add('d1'), batcher.add('b2'));
    await settled();
    expect(sent.slice(1)).toEqual([['d1']]);
    for (let i = 0; i < 4; i++) await held.answer();
    expect(sent.slice(2)).toEqual([['a2', 'b2'], ['a3']]);
    await Promise.all(answers);
  });

  it('tells how many items each batch has and how long its first one waited', async () => {
    const seen: [number, number][] = [];
    const held = heldFlush();
    const { batcher, clock } = batcherOf(held.flush, { observe: (size, waitMs) => seen.push([size, waitMs]) });
    const answers = [batcher.add('a')];
    await settled();
    answers.push(batcher.add('b'), batcher.add('c'));
    await clock.advance(7);
    await held.answer();
    await held.answer();
    await Promise.all(answers);
    expect(seen).toEqual([
      [1, 0],
      [2, 7],
    ]);
  });
});

describe('failures', () => {
  it('refuses the guilty row alone, whatever stands around it', async () => {
    const { batcher } = batcherOf((items) => (items.includes('bad') ? Promise.reject(failure('row')) : done(items)));
    const items = [
      ...Array.from({ length: 60 }, (_, i) => `${i}`),
      'bad',
      ...Array.from({ length: 39 }, (_, i) => `x${i}`),
    ];
    const answers = await Promise.all(items.map((item) => batcher.add(item)));
    expect(answers).toEqual(items.map((item) => (item === 'bad' ? 'refused bad' : `done ${item}`)));
  });

  it('gives the guilty item the store’s error, or what onRowError throws', async () => {
    const bad: Flush = () => Promise.reject(failure('row'));
    const silent = batcherOf(bad, { onRowError: () => undefined });
    await expect(silent.batcher.add('a')).rejects.toMatchObject({ failure: 'row' });
    const refusing = batcherOf(bad, {
      onRowError: () => {
        throw new AppError({ code: 'invalid_field', message: 'no' });
      },
    });
    await expect(refusing.batcher.add('a')).rejects.toMatchObject({ code: 'invalid_field' });
  });

  it('repeats the same items in the same order before later ones', async () => {
    let failures = 3;
    const { batcher, clock, sent } = batcherOf((items) =>
      failures-- > 0 ? Promise.reject(failure('unknown')) : done(items),
    );
    const answers = [batcher.add('a'), batcher.add('b')];
    await settled();
    answers.push(batcher.add('c'));
    await clock.advance(1000);
    expect(sent).toEqual([['a', 'b'], ['a', 'b'], ['a', 'b'], ['a', 'b'], ['c']]);
    expect(await Promise.all(answers)).toEqual(['done a', 'done b', 'done c']);
  });

  it('gives up on an unclear outcome at each item’s deadline, with that error', async () => {
    const { batcher, clock } = batcherOf(() => Promise.reject(failure('unknown')), {
      retry: { attemptsMax: 1000, baseMs: 10, capMs: 10 },
    });
    const ends: [string, number][] = [];
    const note = (name: string) => (error: unknown) => {
      expect(error).toMatchObject({ failure: 'unknown' });
      ends.push([name, clock.monotonicMs()]);
    };
    batcher.add('a', { deadlineMs: 95 }).catch(note('a'));
    batcher.add('b', { deadlineMs: 205 }).catch(note('b'));
    await clock.advance(1000);
    expect(ends).toEqual([
      ['a', 95],
      ['b', 205],
    ]);
    expect(clock.sleeping).toBe(0);
  });

  it('lets one row that stays busy fail alone, after the tries of a batch and one more at each halving', async () => {
    const { batcher, clock, sent } = batcherOf((items) =>
      items.includes('stuck') ? Promise.reject(failure('busy')) : done(items),
    );
    const answers = Promise.allSettled(['a', 'b', 'stuck', 'c', 'd'].map((item) => batcher.add(item)));
    await clock.advance(1000);
    const answered = (await answers).map((answer) => answer.status);
    expect(answered).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(sent.filter((items) => items.includes('stuck'))).toHaveLength(5 + 2);
  });

  it('fails the batch, and nothing else, on a fault of the program', async () => {
    let first = true;
    const { batcher } = batcherOf((items) => {
      if (!first) return done(items);
      first = false;
      return Promise.resolve([]);
    });
    await expect(batcher.add('a')).rejects.toMatchObject({ code: 'internal' });
    expect(await batcher.add('b')).toBe('done b');
  });
});

describe('bounds', () => {
  it('refuses with 503 above its queue and takes again when there is room', async () => {
    const held = heldFlush();
    const { batcher } = batcherOf(held.flush, { queueMax: 2 });
    const answers = [batcher.add('a')];
    await settled();
    answers.push(batcher.add('b'), batcher.add('c'));
    await expect(batcher.add('d')).rejects.toMatchObject({ code: 'overloaded', retryable: true });
    await held.answer();
    answers.push(batcher.add('e'));
    await held.answer();
    await held.answer();
    expect(await Promise.all(answers)).toHaveLength(4);
  });

  it('never sends what is aborted or too late before its turn', async () => {
    const held = heldFlush();
    const { batcher, clock, sent } = batcherOf(held.flush);
    const first = batcher.add('a');
    await settled();
    const abort = new AbortController();
    const aborted = batcher.add('b', { signal: abort.signal });
    const late = batcher.add('c', { deadlineMs: 10 });
    abort.abort(new Error('caller went away'));
    await clock.advance(10);
    await held.answer();
    await expect(aborted).rejects.toThrow('caller went away');
    await expect(late).rejects.toMatchObject({ code: 'overloaded' });
    expect(await first).toBe('done a');
    expect(sent).toEqual([['a']]);
  });

  it('closes by refusing new items and sending the rest', async () => {
    const held = heldFlush();
    const { batcher } = batcherOf(held.flush);
    const answers = [batcher.add('a')];
    await settled();
    answers.push(batcher.add('b'));
    const closed = batcher.close(1000);
    await expect(batcher.add('c')).rejects.toMatchObject({ code: 'draining' });
    await held.answer();
    await held.answer();
    await closed;
    expect(await Promise.all(answers)).toEqual(['done a', 'done b']);
  });

  it('closes at its deadline: retries end and what waits is refused', async () => {
    const { batcher, clock } = batcherOf(() => Promise.reject(failure('unknown')), {
      itemsMax: 1,
      retry: { attemptsMax: 1000, baseMs: 10, capMs: 10 },
    });
    const answers = Promise.allSettled([batcher.add('a'), batcher.add('b')]);
    await settled();
    const closed = batcher.close(50);
    await clock.advance(50);
    await closed;
    expect(await answers).toMatchObject([{ reason: { failure: 'unknown' } }, { reason: { code: 'draining' } }]);
    expect(clock.sleeping).toBe(0);
  });
});

describe('whatever happens', () => {
  const outcome = fc.constantFrom<'ok' | 'lost' | StoreFailure>('ok', 'ok', 'ok', 'busy', 'unknown', 'lost');
  const script = fc.record({
    items: fc.array(fc.record({ guilty: fc.boolean(), gap: fc.nat(3) }), { minLength: 1, maxLength: 40 }),
    outcomes: fc.array(outcome, { maxLength: 60 }),
    itemsMax: fc.integer({ min: 1, max: 10 }),
    seed: fc.integer(),
  });

  it('answers each item once, keeps order, and refuses guilty rows only', async () => {
    await fc.assert(
      fc.asyncProperty(script, async ({ items, outcomes, itemsMax, seed }) => {
        const stored: string[] = [];
        const names = items.map(({ guilty }, i) => `${guilty ? 'bad' : 'good'}-${i}`);
        const next = outcomes[Symbol.iterator]();
        // A store that may fail after it has stored (lost), and where storing twice changes nothing.
        const flush: Flush = (batch) => {
          const outcome = next.next().value ?? 'ok';
          if (outcome === 'busy' || outcome === 'unknown') return Promise.reject(failure(outcome));
          if (batch.some((item) => item.startsWith('bad'))) return Promise.reject(failure('row'));
          for (const item of batch) if (!stored.includes(item)) stored.push(item);
          return outcome === 'lost' ? Promise.reject(failure('unknown')) : done(batch);
        };
        const { batcher, clock } = batcherOf(flush, {
          itemsMax,
          ids: new SeededIds(seed),
          retry: { attemptsMax: 100, baseMs: 1, capMs: 10 },
        });
        const answers: Promise<string>[] = [];
        for (const [i, { gap }] of items.entries()) {
          answers.push(batcher.add(names[i] ?? ''));
          for (let turns = 0; turns < gap; turns++) await Promise.resolve();
        }
        await clock.advance(10_000);
        const answered = await Promise.all(answers);
        expect(answered).toEqual(names.map((name) => (name.startsWith('bad') ? `refused ${name}` : `done ${name}`)));
        expect(stored).toEqual(names.filter((name) => name.startsWith('good')));
        expect(clock.sleeping).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('never overlaps equal keys and keeps their order with many batches in flight', async () => {
    const keyed = fc.record({
      keys: fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 30 }),
      order: fc.array(fc.nat(5), { maxLength: 40 }),
      flushesMax: fc.integer({ min: 1, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(keyed, async ({ keys, order, flushesMax }) => {
        const open: { batch: readonly string[]; end: () => void }[] = [];
        const stored: string[] = [];
        const flush: Flush = (batch) =>
          new Promise((resolve) => {
            const running = [...open.flatMap((other) => other.batch), ...batch].map((item) => item.charAt(0));
            expect(new Set(running).size).toBe(running.length);
            expect(open.length).toBeLessThan(flushesMax);
            open.push({
              batch,
              end: () => {
                stored.push(...batch);
                resolve(batch.map((item) => `done ${item}`));
              },
            });
          });
        const { batcher } = batcherOf(flush, { flushesMax, itemsMax: 3, distinctBy: (item) => item.charAt(0) });
        const names = keys.map((key, i) => `${key}${i}`);
        const answers = names.map((name) => batcher.add(name));
        await settled();
        for (let step = 0; open.length > 0; step++) {
          open.splice((order[step] ?? 0) % open.length, 1)[0]?.end();
          await settled();
        }
        await Promise.all(answers);
        for (const key of 'abcd') {
          const mine = (list: readonly string[]) => list.filter((name) => name.startsWith(key));
          expect(mine(stored)).toEqual(mine(names));
        }
      }),
      { numRuns: 200 },
    );
  });
});
