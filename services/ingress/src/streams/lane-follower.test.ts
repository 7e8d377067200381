import type { DurableEvent, LaneId, LaneRef, LiveEvent, TenantId } from '@turnkeeper/core';
import { settled, silentLogger, VirtualClock } from '@turnkeeper/core/testing';
import { describe, expect, it } from 'vitest';
import { LaneFollower } from './lane-follower.ts';
import { eventIdOf, type StreamCursor } from './stream-filter.ts';

const lane: LaneRef = { slot: 1, tenantId: 'tenant' as TenantId, laneId: 'lane' as LaneId };

/** A lane whose rows are written by the test. `takes`: the reader takes each event at once. */
function setUp({ takes = true } = {}) {
  const clock = new VirtualClock();
  const rows: DurableEvent[] = [];
  const told: string[] = [];
  const cursors: StreamCursor[] = [];
  const asked: LaneRef[] = [];
  let say: (event: LiveEvent) => void = () => undefined;
  let poll: (seq: number) => void = () => undefined;
  let take: () => void = () => undefined;
  let reads = 0;
  const head = () => rows.at(-1)?.seq ?? 0;
  const follower = new LaneFollower({
    lane,
    changes: {
      read: async (_lane, after) => {
        reads++;
        return { events: rows.filter(({ seq }) => seq > after), upTo: head(), head: head() };
      },
      follow: (_lane, onSeq) => {
        poll = onSeq;
        return () => undefined;
      },
    },
    live: {
      subscribe: (_lane, onEvent) => {
        say = onEvent;
        return () => undefined;
      },
    },
    snapshots: { ask: (which) => asked.push(which) },
    ...{ clock, logger: silentLogger },
    onDurable: ({ seq, type }, cursor) => {
      told.push(`${seq} ${type}`);
      cursors.push(cursor);
    },
    onEphemeral: ({ type, data }) => told.push(`- ${type} ${data['text'] ?? ''}`.trimEnd()),
    drained: () => (takes ? Promise.resolve() : new Promise((resolve) => (take = resolve))),
  });
  const write = (seq: number, ...types: string[]) =>
    rows.push(...types.map((type) => ({ seq, type, at: '', sessionKey: 'k', turnId: 't', data: {} })));
  const announce = (type: string, seq?: number, text = '') =>
    say({
      ...{ type, at: '', sessionKey: 'k', turnId: 't', data: { text } },
      ...(seq === undefined ? {} : { seq: String(seq) }),
    });
  return {
    ...{ clock, follower, told, cursors, asked, write, announce },
    reads: () => reads,
    poll: (seq: number) => poll(seq),
    take: () => take(),
  };
}

const from = (seq: number, told = 0) => ({ seq, told });

describe('a reader of a lane', () => {
  it('gets what changed behind its cursor, then what is announced or polled, each once', async () => {
    const { follower, told, write, announce, poll } = setUp();
    write(1, 'turn.started', 'message.created');
    expect(await follower.replay(from(0))).toBe(1);
    follower.goLive({ isRunning: false });
    write(2, 'turn.finished');
    announce('turn.finished', 2);
    announce('turn.finished', 2);
    await settled();
    write(3, 'turn.started');
    poll(3);
    await settled();
    poll(3);
    await settled();
    expect(told).toEqual(['1 turn.started', '1 message.created', '2 turn.finished', '3 turn.started']);
  });

  it('goes on behind any event, also of those that share a seq', async () => {
    const { follower, told, cursors, write } = setUp();
    write(1, 'turn.started', 'message.created');
    write(2, 'run.settled', 'message.created', 'turn.finished');
    await follower.replay(from(0));
    expect(cursors.map(eventIdOf)).toEqual(['1.1', '1', '2.1', '2.2', '2']);
    for (const [i, cursor] of cursors.entries()) {
      const again = setUp();
      again.write(1, 'turn.started', 'message.created');
      again.write(2, 'run.settled', 'message.created', 'turn.finished');
      await again.follower.replay(cursor);
      expect([...told.slice(0, i + 1), ...again.told]).toEqual(told);
    }
  });

  it('gets deltas behind what began their turn, and none once it has ended', async () => {
    const { follower, told, write, announce } = setUp();
    await follower.replay(from(0));
    follower.goLive({ isRunning: false });
    write(1, 'turn.started');
    announce('turn.started', 1);
    announce('message.delta', undefined, 'a');
    await settled();
    write(2, 'turn.finished');
    announce('turn.finished', 2);
    announce('message.delta', undefined, 'b');
    await settled();
    expect(told).toEqual(['1 turn.started', '- message.delta a', '2 turn.finished']);
  });

  it('who joins in mid-turn gets the text so far instead of what came while it was asked for', async () => {
    const { clock, follower, told, asked, announce } = setUp();
    await follower.replay(from(0));
    follower.goLive({ isRunning: true });
    expect(asked).toEqual([lane]);
    announce('message.delta', undefined, 'in it');
    announce('turn.snapshot', undefined, 'so far');
    announce('message.delta', undefined, 'behind it');
    expect(told).toEqual(['- turn.snapshot so far', '- message.delta behind it']);
    await clock.advance(1_000);
    expect([told.length, clock.sleeping]).toEqual([2, 0]);
  });

  it('waits 200 ms for it, no longer', async () => {
    const { clock, follower, told, announce } = setUp();
    await follower.replay(from(0));
    follower.goLive({ isRunning: true });
    announce('message.delta', undefined, 'a');
    await clock.advance(199);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual(['- message.delta a']);
    announce('turn.snapshot', undefined, 'too late');
    expect(told).toHaveLength(1);
  });

  it('is written to as it takes, and not at all once it is closed', async () => {
    const { follower, told, write, take } = setUp({ takes: false });
    write(1, 'turn.started', 'message.created', 'message.created');
    const replaying = follower.replay(from(0));
    await settled();
    expect(told).toHaveLength(1);
    take();
    await settled();
    expect(told).toHaveLength(2);
    follower.close();
    take();
    await replaying;
    expect(told).toHaveLength(2);
  });

  it('that is closed while more is wanted reads no more', async () => {
    const { follower, write, announce, reads } = setUp();
    await follower.replay(from(0));
    follower.goLive({ isRunning: false });
    write(1, 'turn.started');
    announce('turn.started', 1);
    announce('turn.finished', 9);
    follower.close();
    await settled();
    const before = reads();
    await settled();
    expect(reads()).toBe(before);
  });
});
