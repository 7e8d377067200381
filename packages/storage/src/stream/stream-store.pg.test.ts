import type { BootId, DurableEvent, LanePage, LaneRef, MessageId, SessionId, TenantPage } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { freshId, openStage, type Stage, type StageLane } from '../testing/stage.ts';
import { StreamStore } from './stream-store.ts';

let stage: Stage;
let store: StreamStore;
let bootId: BootId;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  store = new StreamStore(stage.engine);
  bootId = await stage.worker();
});

afterAll(() => stage.close());

async function freshLane(): Promise<StageLane> {
  return stage.lane(await stage.tenant(freshId()), 'k');
}

async function changes(lane: LaneRef, after: number) {
  const [page] = await store.changes([{ lane, after }]);
  if (!page || page === 'later') throw new Error('no such lane');
  return page;
}

const told = (events: readonly DurableEvent[]) => events.map(({ seq, type }) => `${seq} ${type}`);

describe('what changed in a lane', () => {
  it('is told in the order of seq and, within one, of the table; and only behind the cursor', async () => {
    const lane = await freshLane();
    await stage.send(lane, 'one');
    await stage.commit(bootId, await stage.claim(bootId, lane));
    await stage.send(lane, 'two');
    await stage.claim(bootId, lane);

    const whole = await changes(lane, 0);
    expect(told(whole.events)).toEqual([
      '1 turn.started',
      '1 message.created',
      '1 session.started',
      '2 run.settled',
      '2 message.created',
      '2 turn.finished',
      '3 turn.started',
      '3 message.created',
    ]);
    expect([whole.upTo, whole.head]).toEqual([3, 3]);
    for (const after of [1, 2, 3]) {
      expect((await changes(lane, after)).events).toEqual(whole.events.filter(({ seq }) => seq > after));
    }
    expect(whole.events[1]).toMatchObject({ sessionKey: 'k', data: { role: 'user', author: 'human', text: 'one' } });
    expect(whole.events[2]).toMatchObject({ data: { reason: 'first' } });
    expect(whole.events[4]).toMatchObject({ data: { role: 'assistant', author: 'agent' } });
  });

  it('is told of a run that was cancelled while it waited', async () => {
    const lane = await freshLane();
    await stage.send(lane, 'one');
    const eventId = await stage.send(lane, 'two');
    await stage.claim(bootId, lane);
    await stage.control.cancelRun(lane.tenantId, eventId);
    const { events } = await changes(lane, 1);
    expect(events).toMatchObject([{ seq: 2, type: 'run.settled', data: { status: 'cancelled' } }]);
  });

  it('is told page by page when it is much, and nothing is missing between the pages', async () => {
    const lane = await freshLane();
    for (let n = 0; n < 101; n++) {
      await stage.send(lane, String(n));
      await stage.commit(bootId, await stage.claim(bootId, lane));
    }
    const first = await changes(lane, 0);
    const second = await changes(lane, first.upTo);
    expect([first.upTo, first.head, second.upTo]).toEqual([200, 202, 202]);
    const finished = [...first.events, ...second.events].filter(({ type }) => type === 'turn.finished');
    expect(finished.map(({ seq }) => seq)).toEqual(Array.from({ length: 101 }, (_, n) => 2 * n + 2));
  });
});

describe('much text', () => {
  const LARGE_BYTES = 40_000;
  // stored small, and large when it is read; and the other way round
  const texts = [
    'x'.repeat(LARGE_BYTES),
    Array.from({ length: LARGE_BYTES / 10 }, () => Math.random().toString(36).slice(2)).join(''),
  ];

  async function pagesOf(lane: LaneRef, bytesMax: number) {
    const bounded = new StreamStore(stage.engine, { bytesMax });
    const pages: LanePage[] = [];
    for (let after = 0; ; after = pages.at(-1)?.upTo ?? 0) {
      const [page] = await bounded.changes([{ lane, after }]);
      if (page === 'later' || !page || page.events.length === 0) return pages;
      expect(page.upTo).toBeGreaterThan(after);
      pages.push(page);
    }
  }

  it.each(texts)('is told in pages of bounded size, of which none is missing anything', async (text) => {
    const lane = await freshLane();
    for (let n = 0; n < 6; n++) {
      await stage.send(lane, text);
      await stage.commit(bootId, await stage.claim(bootId, lane));
    }
    // ended aside: cancelled while it waited behind one that was handed back
    const waits = await stage.send(lane, text);
    await stage.control.cancelRun(lane.tenantId, waits);
    await stage.send(lane, text);
    const turn = await stage.claim(bootId, lane);
    await stage.lanes.handBack(bootId, [{ ...turn, hadEffect: false, reason: 'local_failure' }]);
    await stage.claim(bootId, lane);

    const [whole, ...none] = await pagesOf(lane, 100_000_000);
    expect(none).toEqual([]);
    for (const bytesMax of [1, LARGE_BYTES, 2.5 * LARGE_BYTES]) {
      const pages = await pagesOf(lane, bytesMax);
      expect(pages.flatMap(({ events }) => events)).toEqual(whole?.events);
      expect(pages.length).toBeGreaterThan(2);
      for (const { events } of pages) {
        const bytes = events.reduce((sum, { data }) => sum + String(data['text'] ?? '').length, 0);
        // of each kind so much, and what the transaction wrote that passed it
        expect(bytes).toBeLessThanOrEqual(2 * (bytesMax + text.length + 100));
      }
    }
  });
});

it('many lanes of large transactions are read in turns: a read brings no more than its bound and one transaction', async () => {
  const lanes: LaneRef[] = [];
  for (let n = 0; n < 4; n++) {
    const lane = await freshLane();
    await stage.send(lane, 'x'.repeat(1_000));
    await stage.commit(bootId, await stage.claim(bootId, lane));
    lanes.push(lane);
  }
  const bounded = new StreamStore(stage.engine, { bytesMax: 600 });
  const read: number[] = [];
  for (let left = lanes; left.length > 0; ) {
    const pages = await bounded.changes(left.map((lane) => ({ lane, after: 0 })));
    const later = left.filter((_, i) => pages[i] === 'later');
    read.push(left.length - later.length);
    left = later;
  }
  // 4 × 600 bytes are passed with the third message of 1,000; 1 × 600 by the first
  expect(read).toEqual([3, 1]);
});

it('a message is told of once, though its turn was handed back and it is taken again', async () => {
  const lane = await freshLane();
  await stage.send(lane, 'one');
  const turn = await stage.claim(bootId, lane);
  await stage.lanes.handBack(bootId, [{ ...turn, hadEffect: false, reason: 'local_failure' }]);
  await stage.commit(bootId, await stage.claim(bootId, lane));
  const { events } = await changes(lane, 0);
  expect(told(events.filter(({ type }) => type !== 'run.settled'))).toEqual([
    '1 turn.started',
    '1 message.created',
    '1 session.started',
    '2 turn.interrupted',
    '3 turn.started',
    '4 message.created',
    '4 turn.finished',
  ]);
});

it('much that was ended at once is one page; much that was said without a turn is several', async () => {
  const lane = await freshLane();
  for (let n = 0; n < 120; n++) await stage.send(lane, String(n), { laneCap: 200 });
  await stage.claim(bootId, lane);
  const newSessionId = freshId<SessionId>();
  await stage.control.control({ lane, sessionId: null, command: 'reset', newSessionId, dedupe: null });
  const ended = await changes(lane, 0);
  expect(ended.upTo).toBe(2);
  expect(ended.events.filter(({ type }) => type === 'run.settled')).toHaveLength(120);
  expect(ended.events.at(-1)).toMatchObject({ type: 'session.reset', data: { previousSessionId: expect.any(String) } });

  for (let n = 0; n < 150; n++) {
    const messageId = freshId<MessageId>();
    const dedupe = { scope: lane.tenantId, key: messageId, bodyHash: new Uint8Array([1]) };
    const said = { sessionId: null, newSessionId, messageId, author: 'agent', body: { text: String(n) } } as const;
    await stage.control.sendOutbound({ lane, ...said, undeliveredMax: 100, accountId: null, dedupe });
  }
  const first = await changes(lane, 2);
  const second = await changes(lane, first.upTo);
  expect([first.upTo, second.upTo]).toEqual([102, 152]);
  expect([...first.events, ...second.events].map(({ data }) => data['text'])).toEqual(
    Array.from({ length: 150 }, (_, n) => String(n)),
  );
});

describe('where a run stands in the stream of its lane', () => {
  it('is before its claim and at its end; while it waits, from where the lane is now', async () => {
    const lane = await freshLane();
    const [one, two] = [await stage.send(lane, 'one'), await stage.send(lane, 'two')];
    const turn = await stage.claim(bootId, lane);
    const { turnId } = turn.fence;
    expect(await store.runInStream(lane.tenantId, one)).toEqual({ before: 0, ended: null, isFinal: false, turnId });
    await stage.commit(bootId, turn);
    expect(await store.runInStream(lane.tenantId, one)).toEqual({ before: 0, ended: 2, isFinal: true, turnId });
    const waits = { before: 2, ended: null, isFinal: false, turnId: null };
    expect(await store.runInStream(lane.tenantId, two)).toEqual(waits);
    expect(await store.runInStream((await freshLane()).tenantId, two)).toBeNull();
  });
});

it('lanes of several tenants are read at once, each for itself; one that is not there is null', async () => {
  const [one, other] = [await freshLane(), await freshLane()];
  await stage.send(one, 'one');
  await stage.claim(bootId, one);
  await stage.send(other, 'other');
  const pages = await store.changes([other, await freshLane(), one].map((lane) => ({ lane, after: 0 })));
  const begun = ['1 turn.started', '1 message.created', '1 session.started'];
  expect(pages.map((page) => page && told(page === 'later' ? [] : page.events))).toEqual([[], null, begun]);
  expect(await store.heads([one, other])).toMatchObject([
    { seq: 1, isRunning: true },
    { seq: 0, isRunning: false },
  ]);
});

it('what waits is listed with its position, what runs is not', async () => {
  const lane = await freshLane();
  await stage.send(lane, 'one');
  await stage.claim(bootId, lane);
  const eventId = await stage.send(lane, 'two');
  expect(await store.pending(lane)).toEqual([{ eventId, clientId: null, position: 1 }]);
});

describe('which lanes of a tenant changed', () => {
  it('are found since a moment, with where they stand; and where each stood at that moment', async () => {
    const tenantId = await stage.tenant(freshId());
    const [quiet, busy] = [stage.lane(tenantId, 'quiet'), stage.lane(tenantId, 'busy')];
    for (const lane of [quiet, busy]) {
      await stage.send(lane, 'one');
      await stage.commit(bootId, await stage.claim(bootId, lane));
    }
    const { lanes: none, now } = await store.tenantChanges(tenantId, null);
    expect(none).toEqual([]);
    await stage.send(busy, 'two');
    await stage.commit(bootId, await stage.claim(bootId, busy));
    await stage.control.cancelRun(tenantId, await stage.send(busy, 'three'));
    const other = await freshLane();
    await stage.send(other, 'of another tenant');

    const page = await store.tenantChanges(tenantId, now);
    const { slot, laneId } = busy;
    expect(page.lanes).toEqual([{ lane: { slot, tenantId, laneId }, seq: 5 }]);
    expect([page.upTo, page.now > now]).toEqual([null, true]);
    expect(await store.seqsAt([busy, quiet, other], now)).toEqual([2, 2, 0]);
    expect((await store.tenantChanges(tenantId, page.now)).lanes).toEqual([]);
  });

  it('are found page by page, and none is missing between the pages', async () => {
    const tenantId = await stage.tenant(freshId());
    const { now } = await store.tenantChanges(tenantId, null);
    const lanes = Array.from({ length: 5 }, (_, n) => stage.lane(tenantId, String(n)));
    for (const lane of lanes) {
      await stage.send(lane, 'one');
      for (let n = 0; n < 4; n++) {
        const messageId = freshId<MessageId>();
        const dedupe = { scope: tenantId, key: messageId, bodyHash: new Uint8Array([1]) };
        const newSessionId = freshId<SessionId>();
        const said = { sessionId: null, newSessionId, messageId, author: 'agent', body: { text: '' } } as const;
        await stage.control.sendOutbound({ lane, ...said, undeliveredMax: 100, accountId: null, dedupe });
      }
    }
    const small = new StreamStore(stage.engine, { changesMax: 6 });
    const found = new Set<string>();
    let pages = 0;
    for (let since: number | null = now; since !== null; pages++) {
      const page: TenantPage = await small.tenantChanges(tenantId, since);
      for (const { lane } of page.lanes) found.add(lane.laneId);
      since = page.upTo;
    }
    expect([...found].sort()).toEqual(lanes.map(({ laneId }) => laneId).sort());
    expect(pages).toBeGreaterThan(2);
  });
});
