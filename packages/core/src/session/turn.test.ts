import { describe, expect, it } from 'vitest';
import { SeededIds, settled, VirtualClock } from '../testing/index.ts';
import { turnOf } from './turn.fixture.ts';
import { type RunningAgentTurn, type TurnEnd, Turns } from './turn.ts';

const replied: TurnEnd = { how: 'replied', reply: { text: 'hi', usage: null } };

/** Turns whose agents answer when the test says so. */
function turnsOf(answer?: (turn: RunningAgentTurn) => Promise<TurnEnd>) {
  const clock = new VirtualClock();
  const asked: { turn: RunningAgentTurn; reply: (end: TurnEnd) => void }[] = [];
  const turns = new Turns({
    ...{ clock, ids: new SeededIds(), turnMsMax: 10_000, inactiveMsMax: 3_000 },
    answer:
      answer ??
      ((turn) => {
        const { promise, resolve } = Promise.withResolvers<TurnEnd>();
        asked.push({ turn, reply: resolve });
        return promise;
      }),
  });
  return { clock, turns, asked };
}

/** Announces and runs a turn, as a claim does. */
function start(turns: Turns, n = 1) {
  const claimed = turnOf(n);
  turns.announce(claimed.fence.turnId);
  return { turnId: claimed.fence.turnId, end: turns.run(claimed).then(({ end }) => end) };
}

describe('a turn', () => {
  it('ends with its agent’s answer, and its signal stays quiet', async () => {
    const { turns, asked } = turnsOf();
    const { end } = start(turns);
    expect(turns.running).toBe(1);
    asked[0]?.reply(replied);
    expect(await end).toEqual(replied);
    expect(turns.running).toBe(0);
    expect(asked[0]?.turn.signal.aborted).toBe(false);
  });

  it('is lost when a signal names it, and its agent is told', async () => {
    const { turns, asked } = turnsOf();
    const { turnId, end } = start(turns);
    expect(turns.stop(turnId)).toBe(true);
    expect(await end).toEqual({ how: 'lost' });
    expect(asked[0]?.turn.signal.aborted).toBe(true);
    expect(turns.stop(turnId)).toBe(false);
  });

  it('never begins when its stop came before the answer of its claim', async () => {
    const { turns, asked } = turnsOf();
    const claimed = turnOf(1);
    turns.announce(claimed.fence.turnId);
    turns.stop(claimed.fence.turnId);
    expect((await turns.run(claimed)).end).toEqual({ how: 'lost' });
    expect(asked).toEqual([]);
  });

  it('is not touched by a signal for another turn, of which nothing is kept', async () => {
    const { turns, asked } = turnsOf();
    const { end } = start(turns, 1);
    const other = turnOf(2);
    turns.stop(other.fence.turnId);
    expect(turns.knows(other.fence.turnId)).toBe(false);
    asked[0]?.reply(replied);
    expect(await end).toEqual(replied);
  });

  it('keeps to the limits of its agent where they are narrower, never to wider ones', async () => {
    const { turns, asked, clock } = turnsOf();
    const narrow = start(turns, 1);
    const wide = start(turns, 2);
    if (asked[0]) asked[0].turn.limits = { turnMsMax: 2_000, inactiveMsMax: null };
    if (asked[1]) asked[1].turn.limits = { turnMsMax: null, inactiveMsMax: 60_000 };
    await clock.advance(2_000);
    turns.expire();
    expect(await narrow.end).toMatchObject({ status: 'timeout', code: 'turn_timeout' });
    expect(turns.running).toBe(1);
    await clock.advance(1_001);
    turns.expire();
    expect(await wide.end).toMatchObject({ status: 'timeout', code: 'inactivity_timeout' });
  });

  it('does not wait for an agent that ignores its abort, and drops the late answer', async () => {
    const { turns, asked, clock } = turnsOf();
    const { end } = start(turns);
    await clock.advance(3_001);
    turns.expire();
    expect(await end).toEqual({ how: 'failed', status: 'timeout', code: 'inactivity_timeout' });
    asked[0]?.reply(replied);
    await settled();
    expect(await end).toMatchObject({ status: 'timeout' });
  });

  it('may be silent for three seconds after every sign of life, and lasts ten in all', async () => {
    const { turns, asked, clock } = turnsOf();
    const { end } = start(turns);
    for (let i = 0; i < 4; i++) {
      await clock.advance(2_400);
      turns.expire();
      asked[0]?.turn.active();
    }
    expect(turns.running).toBe(1);
    await clock.advance(400);
    turns.expire();
    expect(await end).toEqual({ how: 'failed', status: 'timeout', code: 'turn_timeout' });
  });

  it('is not held to have run while it waited to begin, however long', async () => {
    const { turns, asked, clock } = turnsOf();
    const claimed = turnOf(1);
    turns.announce(claimed.fence.turnId);
    await clock.advance(20 * 60_000);
    turns.expire();
    const end = turns.run(claimed).then((run) => run.end);
    await clock.advance(2_900);
    turns.expire();
    asked[0]?.reply(replied);
    expect(await end).toEqual(replied);
  });

  it('ends as an error when its agent throws', async () => {
    const { turns } = turnsOf(() => Promise.reject(new Error('a bug')));
    expect(await start(turns).end).toEqual({ how: 'failed', status: 'error', code: 'internal' });
  });

  it('is known from its announcement to its forgetting, also while its commit is under way', async () => {
    const { turns, asked } = turnsOf();
    const { turnId, end } = start(turns);
    expect(turns.atWork().map(({ fence }) => fence.turnId)).toEqual([turnId]);
    asked[0]?.reply(replied);
    await end;
    expect(turns.atWork()).toEqual([]);
    expect(turns.knows(turnId)).toBe(true);
    turns.forget(turnId);
    expect(turns.knows(turnId)).toBe(false);
  });

  it('ends with all others, each once', async () => {
    const { turns, asked } = turnsOf();
    const [first, second] = [start(turns, 1), start(turns, 2)];
    asked[0]?.reply(replied);
    await settled();
    turns.endAll({ how: 'lost' });
    expect(await first.end).toEqual(replied);
    expect(await second.end).toEqual({ how: 'lost' });
  });

  it('is waited for by a drain while its agent gives signs of life, until the drain’s time is over', async () => {
    const { turns, asked, clock } = turnsOf();
    const handedOver = { how: 'given_back', reason: 'shutdown_timeout' };
    const [silent, lively] = [start(turns, 1), start(turns, 2)];
    await clock.advance(3_001);
    asked[1]?.turn.active();
    turns.drain('shutdown', false);
    expect(await silent.end).toEqual(handedOver);
    expect(turns.running).toBe(1);
    turns.drain('restart', true);
    expect(await lively.end).toEqual({ ...handedOver, reason: 'restart_timeout' });
  });
});
