import {
  type CommitRequest,
  StoreError,
  type TranscriptEntry,
  type TranscriptRequest,
  type TranscriptStore,
} from '@turnkeeper/core';
import { SeededIds, VirtualClock } from '@turnkeeper/core/testing';
import { describe, expect, it, vi } from 'vitest';
import { TranscriptCache, type TranscriptCacheOptions } from './transcript-cache.ts';
import { turnOf } from './turn.fixture.ts';

type Stored = TranscriptEntry & { readonly lane: string; readonly session: string };

/** The rows of all lanes, in the order in which they were written. */
class Rows implements TranscriptStore {
  readonly rows: Stored[] = [];
  reads = 0;

  add(at: { readonly lane?: string; readonly session?: string; readonly seq: number }, ...texts: string[]): void {
    const { lane = 'lane', session = 'session', seq } = at;
    for (const text of texts) this.rows.push({ lane, session, seq: String(seq), role: 'user', body: { text } });
  }

  async recent(items: readonly TranscriptRequest[], limit: number) {
    this.reads++;
    return items.map(({ lane, sessionId, beforeSeq }) =>
      this.rows
        .filter((row) => row.lane === lane.laneId && row.session === sessionId && BigInt(row.seq) < BigInt(beforeSeq))
        .map(({ seq, role, body }) => ({ seq, role, body }))
        .slice(-limit),
    );
  }
}

function setUp(over: Partial<TranscriptCacheOptions> = {}) {
  const rows = new Rows();
  const clock = new VirtualClock();
  const running = new Set<string>();
  const isRunning = (laneId: string) => running.has(laneId);
  const cache = new TranscriptCache({ store: rows, messagesMax: 100, isRunning, clock, ids: new SeededIds(), ...over });
  return { rows, clock, running, cache };
}

function replyOf(turn: ReturnType<typeof turnOf>, text: string | null): CommitRequest {
  return {
    ...{ lane: turn.lane, fence: turn.fence, status: 'ok', messageId: 'm' as CommitRequest['messageId'] },
    ...{ reply: text === null ? null : { text }, error: null, usage: null, agentVersion: 1, owed: null },
  };
}

const textsOf = (entries: readonly TranscriptEntry[]) => entries.map(({ body }) => (body as { text: string }).text);

describe('the transcripts of warm lanes', () => {
  it('are read once, and then known from what this worker committed', async () => {
    const { rows, cache } = setUp();
    rows.add({ seq: 1 }, 'old');
    const first = turnOf(['one'], { seq: '3' });
    expect(textsOf(await cache.before(first))).toEqual(['old']);
    expect(textsOf(await cache.before(first))).toEqual(['old']);
    cache.committed(first, replyOf(first, 'reply'), { seq: '4' });
    const silent = turnOf(['two'], { seq: '5' });
    expect(textsOf(await cache.before(silent))).toEqual(['old', 'one', 'reply']);
    cache.committed(silent, replyOf(silent, null), { seq: '6' });
    expect(await cache.before(turnOf(['three'], { seq: '7' }))).toEqual([
      { seq: '1', role: 'user', body: { text: 'old' } },
      { seq: '3', role: 'user', body: expect.objectContaining({ text: 'one' }) },
      { seq: '4', role: 'assistant', body: { text: 'reply' } },
      { seq: '5', role: 'user', body: expect.objectContaining({ text: 'two' }) },
    ]);
    expect(rows.reads).toBe(1);
  });

  it('are read again when anything came between, also in the same session', async () => {
    const { rows, cache } = setUp();
    const first = turnOf(['one'], { seq: '1' });
    await cache.before(first);
    cache.committed(first, replyOf(first, 'reply'), { seq: '2' });
    rows.add({ seq: 1 }, 'one', 'reply', 'of another worker');
    expect(textsOf(await cache.before(turnOf(['two'], { seq: '5' })))).toEqual(['one', 'reply', 'of another worker']);
  });

  it("never hold another session's or another lane's rows", async () => {
    const { rows, cache } = setUp();
    const first = turnOf(['one'], { seq: '1' });
    await cache.before(first);
    cache.committed(first, replyOf(first, 'reply'), { seq: '2' });
    expect(await cache.before(turnOf(['two'], { seq: '3', session: 'fresh' }))).toEqual([]);
    expect(await cache.before(turnOf(['two'], { seq: '3', lane: 'other' }))).toEqual([]);
    expect(rows.reads).toBe(3);
  });

  it('are not begun by a turn that asked for none, nor kept for one that was not committed', async () => {
    const { rows, cache } = setUp();
    const unasked = turnOf(['one'], { seq: '1' });
    cache.committed(unasked, replyOf(unasked, 'reply'), { seq: '2' });
    rows.add({ seq: 1 }, 'one', 'reply');
    const lost = turnOf(['two'], { seq: '3' });
    expect(textsOf(await cache.before(lost))).toEqual(['one', 'reply']);
    // handed back at 4
    expect(textsOf(await cache.before(turnOf(['two'], { seq: '5' })))).toEqual(['one', 'reply']);
    expect(rows.reads).toBe(2);
  });

  it('are read for many lanes at once', async () => {
    const { rows, cache } = setUp();
    for (const lane of ['a', 'b', 'c']) rows.add({ lane, seq: 1 }, `of ${lane}`);
    const read = (lane: string) => cache.before(turnOf([''], { seq: '2', lane }));
    const all = await Promise.all(['b', 'none', 'c', 'a'].map(read));
    expect(all.map(textsOf)).toEqual([['of b'], [], ['of c'], ['of a']]);
    expect(rows.reads).toBe(1);
  });

  it('hold no more than a model is given', async () => {
    const { cache } = setUp({ messagesMax: 3 });
    for (let seq = 1; seq < 9; seq += 2) {
      const turn = turnOf([`u${seq}`], { seq: String(seq) });
      await cache.before(turn);
      cache.committed(turn, replyOf(turn, `a${seq}`), { seq: String(seq + 1) });
    }
    expect(textsOf(await cache.before(turnOf([''], { seq: '9' })))).toEqual(['a5', 'u7', 'a7']);
  });

  it('are forgotten by use and by time', async () => {
    const { rows, clock, cache } = setUp({ lanesMax: 2 });
    await clock.advance(1);
    const use = (lane: string) => cache.before(turnOf([''], { seq: '1', lane }));
    for (const lane of ['a', 'b', 'a', 'c', 'a']) await use(lane);
    expect(rows.reads).toBe(3);
    await use('b');
    expect(rows.reads).toBe(4);
    await clock.advance(60 * 60 * 1000 + 1);
    await use('b');
    expect(rows.reads).toBe(5);
    await clock.advance(60 * 60 * 1000 + 1);
    for (const lane of ['c', 'd', 'c', 'd']) await use(lane);
    expect(rows.reads, 'what time ended makes room for what comes').toBe(7);
  });

  it('a read that fails is told, and leaves nothing behind', async () => {
    const { rows, clock, cache } = setUp();
    rows.add({ seq: 1 }, 'old');
    const failure = new StoreError({ failure: 'unknown', state: '57P01', message: 'gone' });
    const turn = turnOf(['one'], { seq: '2' });
    vi.spyOn(rows, 'recent')
      .mockRejectedValueOnce(failure)
      .mockRejectedValueOnce(failure)
      .mockRejectedValueOnce(failure);
    const read = expect(cache.before(turn)).rejects.toBe(failure);
    await clock.advance(1000);
    await read;
    expect(textsOf(await cache.before(turn))).toEqual(['old']);
  });

  it('are what is stored, whatever two workers and others do to a lane', async () => {
    let hits = 0;
    for (let seed = 1; seed <= 300; seed++) {
      const random = new SeededIds(seed);
      const pick = (n: number) => Math.floor(random.random() * n);
      const rows = new Rows();
      const clock = new VirtualClock();
      const workers = [1, 2].map(
        () => new TranscriptCache({ store: rows, messagesMax: 4, isRunning: () => false, clock, ids: random }),
      );
      let [seq, session] = [0, 0];
      for (let step = 0; step < 30; step++) {
        // a control, a cancelled message, an interrupt
        if (pick(5) === 0) seq++;
        if (pick(12) === 0) session++;
        const at = { seq: ++seq, session: `s${session}` };
        const turn = turnOf([`u${seq}`], { seq: String(seq), session: at.session });
        const worker = workers[pick(8) === 0 ? 1 : 0];
        if (worker === undefined) throw new Error('no worker');
        if (pick(4) > 0) {
          const [truth = []] = await rows.recent([{ ...turn, beforeSeq: turn.seq }], 4);
          const before = rows.reads;
          expect(textsOf(await worker.before(turn)), `seed ${seed}`).toEqual(textsOf(truth));
          hits += before === rows.reads ? 1 : 0;
        }
        const end = String(++seq);
        if (pick(6) === 0) continue;
        const reply = pick(5) === 0 ? null : `a${end}`;
        rows.add(at, `u${turn.seq}`);
        if (reply !== null) rows.add({ ...at, seq }, reply);
        // the answer of a commit may be lost, and the turn be found committed
        if (pick(10) > 0) worker.committed(turn, replyOf(turn, reply), { seq: end });
      }
    }
    expect(hits).toBeGreaterThan(1000);
  });
});

describe('above the cap', () => {
  it('the lane that was used longest ago goes, no younger one in place of one whose turn runs, and all end within it', async () => {
    const { rows, running, cache } = setUp({ lanesMax: 2 });
    const use = (lane: string) => cache.before(turnOf([''], { seq: '1', lane }));
    running.add('a');
    for (const lane of ['a', 'b', 'c']) await use(lane);
    const kept = ['a', 'b', 'c'];
    for (const lane of kept) await use(lane);
    expect(rows.reads, 'the running one stays, nobody younger pays').toBe(3);
    running.clear();
    await use('d');
    for (const lane of ['c', 'd']) await use(lane);
    expect(rows.reads, 'the newest two stay').toBe(4);
    for (const lane of ['a', 'b']) await use(lane);
    expect(rows.reads, 'both in excess went').toBe(6);
  });
});

describe('when memory is short', () => {
  it('leaves alone the lane whose turn runs', async () => {
    const { rows, running, cache } = setUp();
    for (const lane of ['a', 'b']) await cache.before(turnOf(['x'], { lane, seq: '1' }));
    running.add('a');
    expect(cache.relieve()).toBe(0);
    await cache.before(turnOf(['x'], { lane: 'a', seq: '1' }));
    expect(rows.reads).toBe(2);
  });

  it('gives up the lanes not spoken in for longest, half of all at most, and reads them again', async () => {
    const { rows, cache } = setUp();
    for (const lane of ['a', 'b', 'c', 'd']) await cache.before(turnOf(['x'], { lane, seq: '1' }));
    expect(cache.relieve()).toBe(2);
    await cache.before(turnOf(['x'], { lane: 'd', seq: '1' }));
    expect(rows.reads).toBe(4);
    await cache.before(turnOf(['x'], { lane: 'a', seq: '1' }));
    expect(rows.reads).toBe(5);
  });
});
