import {
  type DurableEvent,
  type LaneId,
  type LaneRef,
  type LiveEvent,
  type Micros,
  StoreError,
  type StreamReads,
  type TenantId,
} from '@turnkeeper/core';
import { settled, silentLogger, VirtualClock } from '@turnkeeper/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TenantChanges } from './tenant-changes.ts';
import { TenantFollower } from './tenant-follower.ts';

const tenantId = 'tenant' as TenantId;
const laneOf = (laneId: string): LaneRef => ({ slot: 1, tenantId, laneId: laneId as LaneId });

/** A tenant whose lanes' rows are written by the test; each write is a moment later than the one before. */
function setUp() {
  const clock = new VirtualClock();
  const rows: { readonly laneId: string; readonly at: Micros; readonly event: DurableEvent }[] = [];
  const listeners = new Set<(lane: LaneRef, event: LiveEvent) => void>();
  let now: Micros = 1_000_000_000;
  const counts = { reads: 0, looks: 0 };
  const store = { isAway: false };
  const ofLane = (laneId: string) => rows.filter((row) => row.laneId === laneId);
  const headOf = (laneId: string) => ofLane(laneId).at(-1)?.event.seq ?? 0;
  const reads: Pick<StreamReads, 'tenantChanges' | 'seqsAt'> = {
    tenantChanges: async (_tenant, since) => {
      counts.looks++;
      if (store.isAway) throw new StoreError({ failure: 'unknown', state: '08006', message: 'away' });
      const laneIds = new Set(rows.flatMap(({ laneId, at }) => (at > (since ?? now) ? [laneId] : [])));
      return { lanes: [...laneIds].map((id) => ({ lane: laneOf(id), seq: headOf(id) })), upTo: null, now };
    },
    seqsAt: async (lanes, at) =>
      lanes.map(({ laneId }) => ofLane(laneId).findLast((row) => row.at <= at)?.event.seq ?? 0),
  };
  const tenantChanges = new TenantChanges({ reads, clock, logger: silentLogger });
  /** One more reader. `taken`: what it waits for between two events. */
  const reader = (taken: () => Promise<void> = () => Promise.resolve()) => {
    const told: string[] = [];
    const ids: Micros[] = [];
    const follower = new TenantFollower({
      ...{ tenantId, reads, tenantChanges },
      changes: {
        read: async ({ laneId }, after) => {
          counts.reads++;
          const events = ofLane(laneId).flatMap(({ event }) => (event.seq > after ? [event] : []));
          return { events, upTo: headOf(laneId), head: headOf(laneId) };
        },
      },
      live: {
        subscribeTenant: (_tenant, onEvent) => {
          listeners.add(onEvent);
          return () => listeners.delete(onEvent);
        },
      },
      ...{ clock, logger: silentLogger },
      sink: {
        durable: (event, toldTo) => {
          told.push(`${event.sessionKey} ${event.seq} ${event.type}`);
          ids.push(toldTo);
        },
        ephemeral: (event) => told.push(`${event.sessionKey} - ${event.type}`),
        drained: taken,
      },
    });
    onTestFinished(() => follower.close());
    const begin = async (after: Micros = now) => {
      await follower.replay(after);
      void follower.goOn();
      await settled();
    };
    return { follower, told, ids, begin };
  };
  const write = (laneId: string, seq: number, type: string) => {
    now += 1_000_000;
    rows.push({ laneId, at: now, event: { type, at: '', sessionKey: laneId, seq, turnId: `${laneId}1`, data: {} } });
  };
  const announce = (laneId: string, type: string, seq?: number) => {
    for (const say of listeners)
      say(laneOf(laneId), {
        ...{ type, at: '', sessionKey: laneId, turnId: `${laneId}1`, data: {} },
        ...(seq === undefined ? {} : { seq: String(seq) }),
      });
  };
  const pass = (micros: number) => {
    now += micros;
  };
  return { ...reader(), reader, clock, store, counts, write, announce, pass, now: () => now };
}

describe('the stream of a tenant', () => {
  it('tells what changed in any lane, once, with and without a live event', async () => {
    const { clock, told, write, announce, begin } = setUp();
    await begin();
    write('a', 1, 'turn.started');
    announce('a', 'turn.started', 1);
    await settled();
    expect(told).toEqual(['a 1 turn.started']);
    write('b', 1, 'turn.started');
    await settled();
    expect(told).toHaveLength(1);
    await clock.advance(10_000);
    announce('a', 'turn.started', 1);
    await settled();
    expect(told).toEqual(['a 1 turn.started', 'b 1 turn.started']);
  });

  it('tells deltas behind what began their turn, and none of a turn that has ended', async () => {
    const { told, write, announce, begin } = setUp();
    await begin();
    write('a', 1, 'turn.started');
    announce('a', 'turn.started', 1);
    announce('a', 'message.delta');
    await settled();
    expect(told).toEqual(['a 1 turn.started', 'a - message.delta']);
    write('a', 2, 'turn.finished');
    announce('a', 'turn.finished', 2);
    announce('a', 'message.delta');
    await settled();
    expect(told.slice(2)).toEqual(['a 2 turn.finished']);
  });

  it('goes on behind the id of any event without a gap', async () => {
    const { told, ids, write, begin, now } = setUp();
    const start = now();
    for (let seq = 1; seq <= 4; seq++) for (const lane of ['a', 'b']) write(lane, seq, 'session.updated');
    await begin(start);
    const whole = [...told];
    expect(whole).toHaveLength(8);
    for (const [i, id] of ids.entries()) {
      const again = setUp();
      for (let seq = 1; seq <= 4; seq++) for (const lane of ['a', 'b']) again.write(lane, seq, 'session.updated');
      await again.begin(id);
      expect(new Set([...whole.slice(0, i + 1), ...again.told])).toEqual(new Set(whole));
    }
  });

  it('begins behind what had ended before its cursor', async () => {
    const { told, write, begin, now } = setUp();
    write('a', 1, 'session.updated');
    const cursor = now();
    write('a', 2, 'session.updated');
    write('b', 1, 'session.updated');
    await begin(cursor);
    expect(told).toEqual(['a 2 session.updated', 'b 1 session.updated']);
  });

  it('reads no lane of which all has been told, and nothing once it is closed', async () => {
    const { clock, follower, write, announce, begin, counts } = setUp();
    await begin();
    write('a', 1, 'session.updated');
    announce('a', 'session.updated', 1);
    await clock.advance(20_000);
    expect(counts.reads).toBe(1);
    follower.close();
    await settled();
    expect(clock.sleeping).toBe(0);
    write('a', 2, 'session.updated');
    await clock.advance(20_000);
    expect(counts.reads).toBe(1);
  });
});

describe('readers of one tenant', () => {
  it('share one poll, whenever they came, and are all told', async () => {
    const { clock, counts, reader, write } = setUp();
    const readers = Array.from({ length: 20 }, () => reader());
    for (const { begin } of readers) {
      await begin();
      await clock.advance(300);
    }
    counts.looks = 0;
    write('a', 1, 'session.updated');
    await clock.advance(20_000);
    expect(counts.looks).toBe(10);
    for (const { told } of readers) expect(told).toEqual(['a 1 session.updated']);
    for (const { follower } of readers) follower.close();
    await settled();
    expect(clock.sleeping).toBe(0);
  });

  it('that came between two looks miss nothing of what changed shortly before', async () => {
    const { clock, reader, write, now } = setUp();
    const first = reader();
    await first.begin();
    await clock.advance(1_900);
    const start = now();
    write('a', 1, 'session.updated');
    const second = reader();
    await second.begin(start - 20_000_000);
    write('a', 2, 'session.updated');
    await clock.advance(2_000);
    for (const { told } of [first, second]) expect(told).toEqual(['a 1 session.updated', 'a 2 session.updated']);
  });

  it('are late while the rows cannot be read, and told then', async () => {
    const { clock, store, told, write, begin } = setUp();
    await begin();
    store.isAway = true;
    write('a', 1, 'session.updated');
    await clock.advance(10_000);
    expect(told).toEqual([]);
    store.isAway = false;
    await clock.advance(2_000);
    expect(told).toEqual(['a 1 session.updated']);
  });
});

describe('a reader that is slow', () => {
  it('is given no id behind what it has not been told, however many looks pass meanwhile', async () => {
    const { clock, reader, write, pass, now } = setUp();
    const gate = Promise.withResolvers<void>();
    let isHeld = true;
    const slow = reader(() => (isHeld ? gate.promise : Promise.resolve()));
    await slow.begin();
    for (const lane of ['a', 'b', 'c']) write(lane, 1, 'session.updated');
    const written = now();
    await clock.advance(2_000);
    expect(slow.told).toEqual(['a 1 session.updated']);
    for (let i = 0; i < 10; i++) {
      pass(20_000_000);
      await clock.advance(2_000);
    }
    isHeld = false;
    gate.resolve();
    await settled();
    expect(slow.told).toEqual(['a 1 session.updated', 'b 1 session.updated', 'c 1 session.updated']);
    for (const id of slow.ids) expect(id).toBeLessThan(written);
    write('d', 1, 'session.updated');
    await clock.advance(4_000);
    expect(slow.ids.at(-1)).toBeGreaterThan(written);
  });
});
