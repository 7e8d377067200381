import type { DurableEvent, LaneId, LaneRef, LiveEvent, Micros, TenantId } from '@turnkeeper/core';
import { settled, silentLogger, VirtualClock } from '@turnkeeper/core/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TenantFollower } from './tenant-follower.ts';

const tenantId = 'tenant' as TenantId;
const laneOf = (laneId: string): LaneRef => ({ slot: 1, tenantId, laneId: laneId as LaneId });

/** A tenant whose lanes' rows are written by the test; each write is a moment later than the one before. */
function setUp() {
  const clock = new VirtualClock();
  const rows: { readonly laneId: string; readonly at: Micros; readonly event: DurableEvent }[] = [];
  const told: string[] = [];
  const ids: Micros[] = [];
  let now: Micros = 1_000_000_000;
  let say: (lane: LaneRef, event: LiveEvent) => void = () => undefined;
  let reads = 0;
  const ofLane = (laneId: string) => rows.filter((row) => row.laneId === laneId);
  const headOf = (laneId: string) => ofLane(laneId).at(-1)?.event.seq ?? 0;
  const follower = new TenantFollower({
    tenantId,
    reads: {
      tenantChanges: async (_tenant, since) => {
        const laneIds = new Set(rows.flatMap(({ laneId, at }) => (at > (since ?? now) ? [laneId] : [])));
        return { lanes: [...laneIds].map((id) => ({ lane: laneOf(id), seq: headOf(id) })), upTo: null, now };
      },
      seqsAt: async (lanes, at) =>
        lanes.map(({ laneId }) => ofLane(laneId).findLast((row) => row.at <= at)?.event.seq ?? 0),
    },
    changes: {
      read: async ({ laneId }, after) => {
        reads++;
        const events = ofLane(laneId).flatMap(({ event }) => (event.seq > after ? [event] : []));
        return { events, upTo: headOf(laneId), head: headOf(laneId) };
      },
    },
    live: {
      subscribeTenant: (_tenant, onEvent) => {
        say = onEvent;
        return () => undefined;
      },
    },
    ...{ clock, logger: silentLogger },
    sink: {
      durable: (event, toldTo) => {
        told.push(`${event.sessionKey} ${event.seq} ${event.type}`);
        ids.push(toldTo);
      },
      ephemeral: (event) => told.push(`${event.sessionKey} - ${event.type}`),
      drained: () => Promise.resolve(),
    },
  });
  onTestFinished(() => follower.close());
  const write = (laneId: string, seq: number, type: string) => {
    now += 1_000_000;
    rows.push({ laneId, at: now, event: { type, at: '', sessionKey: laneId, seq, turnId: `${laneId}1`, data: {} } });
  };
  const announce = (laneId: string, type: string, seq?: number) =>
    say(laneOf(laneId), {
      ...{ type, at: '', sessionKey: laneId, turnId: `${laneId}1`, data: {} },
      ...(seq === undefined ? {} : { seq: String(seq) }),
    });
  const begin = async (after: Micros = now) => {
    await follower.replay(after);
    void follower.goOn();
    await settled();
  };
  return { clock, follower, told, ids, write, announce, begin, now: () => now, reads: () => reads };
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
    const { clock, follower, write, announce, begin, reads } = setUp();
    await begin();
    write('a', 1, 'session.updated');
    announce('a', 'session.updated', 1);
    await clock.advance(20_000);
    expect(reads()).toBe(1);
    follower.close();
    await settled();
    expect(clock.sleeping).toBe(0);
    write('a', 2, 'session.updated');
    await clock.advance(20_000);
    expect(reads()).toBe(1);
  });
});
