import { describe, expect, it } from 'vitest';
import { AppError, StoreError } from '../errors.ts';
import type { AgentConfig } from '../ports/configs.ts';
import type { AskResult } from '../ports/inputs.ts';
import type { ClaimedTurn } from '../ports/lane.ts';
import type { EarlierEvent } from '../ports/transcripts.ts';
import { SeededIds, silentLogger, VirtualClock } from '../testing/index.ts';
import type { AgentCall, AgentReply, AgentRuntime } from './agent.ts';
import { LOOP_DEFAULTS } from './loop-budget.ts';
import { runAgent } from './run-agent.ts';
import { noHistogram, RecordedStream, turnOf } from './turn.fixture.ts';
import { Turns } from './turn.ts';
import { TurnStream } from './turn-stream.ts';

const reply: AgentReply = { text: 'hi', usage: null };
const config = {
  version: 3,
  loops: LOOP_DEFAULTS,
  runtime: { kind: 'echo', delayMs: 0, fail: 0, wordMs: 0 },
} as AgentConfig;

/** Runs one turn with this runtime; `get` reads the agent's configuration. */
function scene(
  run: AgentRuntime['run'],
  get: () => Promise<AgentConfig | null> = async () => config,
  { claimed = turnOf(1), earlier = [] }: { claimed?: ClaimedTurn; earlier?: readonly EarlierEvent[] } = {},
) {
  const clock = new VirtualClock();
  const ids = new SeededIds();
  const live = new RecordedStream();
  const firstTextMs: number[] = [];
  const seen: string[] = [];
  const asked: (AskResult | StoreError)[] = [];
  const options = {
    ...{ agents: { get }, runtimes: { echo: { run }, openai: { run } }, stream: new TurnStream(live, clock) },
    ...{
      clock,
      ids,
      log: silentLogger,
      transcriptBefore: async () => [],
      earlierOf: async () => earlier,
      inputs: {
        ask: async ({ inputId }: { readonly inputId: string }) => {
          seen.push(`ask ${inputId}`);
          const answer = asked.shift();
          if (answer instanceof Error || answer === undefined) throw answer;
          return answer;
        },
        resolvedFor: async () => null,
      },
      onAsked: () => seen.push('asked'),
      metrics: {
        staleFences: { inc: ({ at = '' }: Readonly<Record<string, string>> = {}) => seen.push(`stale ${at}`) },
        toolCalls: { inc: () => seen.push('tool call') },
        toolCallSeconds: noHistogram,
      },
      onFirstText: (ms: number) => firstTextMs.push(ms),
    },
  };
  const turns = new Turns({
    ...{ clock, ids, turnMsMax: 60_000, inactiveMsMax: 60_000 },
    answer: (turn) => runAgent(turn, options),
  });
  turns.announce(claimed.fence.turnId);
  return { clock, live, firstTextMs, seen, asked, turns, claimed, ended: turns.run(claimed) };
}

const passing = () => new AppError({ code: 'agent_unreachable', message: 'away', retryable: true });

describe('an agent’s turn', () => {
  it('brings the reply, and the version that gave it', async () => {
    const { ended, live } = scene(async () => reply);
    expect(await ended).toMatchObject({ end: { how: 'replied', reply }, turn: { agentVersion: 3, runtime: 'echo' } });
    expect(live.events.map(({ type }) => type)).toEqual(['turn.started', 'turn.activity']);
  });

  it('is tried three times in all when a failure may pass', async () => {
    const tries: number[] = [];
    const { clock, ended } = scene(async ({ tryNumber }: AgentCall) => {
      tries.push(tryNumber);
      throw passing();
    });
    await clock.advance(10_000);
    expect((await ended).end).toEqual({ how: 'failed', status: 'error', code: 'agent_unreachable' });
    expect(tries).toEqual([1, 2, 3]);
  });

  it('ends well when a later try does', async () => {
    const { clock, ended } = scene(async ({ tryNumber }) => {
      if (tryNumber === 1) throw passing();
      return reply;
    });
    await clock.advance(1_000);
    expect((await ended).end).toEqual({ how: 'replied', reply });
  });

  it('is not tried again once somebody may have read its text', async () => {
    let tries = 0;
    const { ended, firstTextMs } = scene(async ({ emit }) => {
      tries++;
      emit('half a ');
      throw passing();
    });
    expect((await ended).end).toMatchObject({ code: 'agent_unreachable' });
    expect(tries).toBe(1);
    expect(firstTextMs).toHaveLength(1);
  });

  it('is tried again after nothing but a sign of life, and not once its thoughts were shown', async () => {
    const tries: number[] = [];
    const { clock, ended } = scene(async ({ emit, tryNumber }) => {
      tries.push(tryNumber);
      if (tryNumber === 1) emit('');
      else emit('hm', 'reasoning');
      throw passing();
    });
    await clock.advance(60_000);
    expect((await ended).end).toMatchObject({ code: 'agent_unreachable' });
    expect(tries).toEqual([1, 2]);
  });

  it('has its first text when there is some, not when it thinks or shows life', async () => {
    const { clock, ended, firstTextMs } = scene(async ({ emit }) => {
      emit('');
      emit('hm', 'reasoning');
      await clock.sleep(3_000);
      emit('hi');
      emit(' there');
      return reply;
    });
    await clock.advance(3_000);
    await ended;
    expect(firstTextMs).toEqual([3_000]);
  });

  it('is not tried again when its failure is for good', async () => {
    let tries = 0;
    const { ended } = scene(async () => {
      tries++;
      throw new AppError({ code: 'model_auth', message: 'wrong key' });
    });
    expect((await ended).end).toMatchObject({ code: 'model_auth' });
    expect(tries).toBe(1);
  });

  it('gives its events back when the store fails, not the agent', async () => {
    const away = new StoreError({ failure: 'unknown', state: '08006', message: 'away' });
    const { ended } = scene(
      async () => reply,
      () => Promise.reject(away),
    );
    expect((await ended).end).toEqual({ how: 'given_back', reason: 'local_failure' });
  });

  it('says that its agent is gone', async () => {
    const { ended } = scene(
      async () => reply,
      async () => null,
    );
    expect((await ended).end).toMatchObject({ how: 'failed', code: 'config_missing' });
  });

  it('tells no code that is not a run’s', async () => {
    for (const thrown of [new Error('a bug'), new AppError({ code: 'rate_limited', message: 'not a run code' })]) {
      const { ended } = scene(() => Promise.reject(thrown));
      expect((await ended).end).toMatchObject({ code: 'internal' });
    }
  });

  it('streams nothing after it was stopped, and waits for no further try', async () => {
    const calls: AgentCall[] = [];
    const { ended, live, turns, claimed, clock } = scene((call) => {
      calls.push(call);
      return new Promise(() => undefined);
    });
    await clock.advance(0);
    turns.stop(claimed.fence.turnId);
    await ended;
    calls[0]?.emit('late');
    expect(live.events.map(({ type }) => type)).toEqual(['turn.started', 'turn.activity']);
  });
});

describe('a turn that asks a person', () => {
  const call = { callId: 'c', name: 'ask_person', body: {} };
  const ask = { kind: 'approval', text: 'May I?', waitMs: 1_000, call } as const;
  const busy = new StoreError({ failure: 'busy', state: '55P03', message: 'busy' });

  it('asks again while the store is busy, with the same ids, and is then over', async () => {
    const { ended, asked, seen, live, clock } = scene(async () => ({ ...reply, ask }));
    asked.push(busy, busy, { result: 'again', seq: '9', expiresAt: new Date(5) });
    await clock.advance(10_000);
    expect((await ended).end).toEqual({ how: 'lost' });
    expect(new Set(seen.slice(0, 3)).size).toBe(1);
    expect(seen.slice(3)).toEqual(['tool call', 'asked']);
    expect(live.events.at(-2)).toMatchObject({ type: 'input.required', seq: '9', data: { prompt: 'May I?' } });
    expect(live.events.at(-1)).toMatchObject({ type: 'turn.activity', data: { activity: 'waiting' } });
  });

  it('asks nothing more once it was fenced off, and says so', async () => {
    const { ended, asked, seen } = scene(async () => ({ ...reply, ask }));
    asked.push({ result: 'stale' });
    expect((await ended).end).toEqual({ how: 'lost' });
    expect(seen.slice(1)).toEqual(['stale ask']);
  });

  describe('that no person takes part in', () => {
    const answered = { byPerson: false, answered: true };
    const spoken = { byPerson: true, answered: true };
    const unanswered = { byPerson: false, answered: false };
    const stopped = (code: string) => ({ how: 'failed', status: 'error', code });
    const never = async () => Promise.reject(new Error('the agent is not asked'));
    const saidBy = (over: { isBot?: true; hops?: number }): ClaimedTurn => {
      const turn = turnOf(1);
      const { isBot, hops } = over;
      const source = { ...turn.source, ...(isBot && { isBot }) };
      const events = turn.events.map((event) => ({
        ...event,
        body: { text: 'hello', source, ...(hops !== undefined && { hops }) },
      }));
      return { ...turn, events };
    };

    it('stops when a bot was answered too often with no person between', async () => {
      const earlier = Array.from({ length: 40 }, (_, i) => (i % 2 ? answered : unanswered));
      const bot = saidBy({ isBot: true });
      expect((await scene(never, undefined, { claimed: bot, earlier }).ended).end).toEqual(stopped('bot_loop'));
      const fewer = earlier.slice(2);
      const end = (await scene(async () => reply, undefined, { claimed: bot, earlier: fewer }).ended).end;
      expect(end).toMatchObject({ how: 'replied' });
    });

    it('goes on when a person has spoken, or is the one who speaks', async () => {
      const loop = Array.from({ length: 50 }, () => answered);
      const run = async () => reply;
      const between = [answered, spoken, ...loop];
      const bot = scene(run, undefined, { claimed: saidBy({ isBot: true }), earlier: between });
      expect((await bot.ended).end).toMatchObject({ how: 'replied' });
      expect((await scene(run, undefined, { earlier: loop }).ended).end).toMatchObject({ how: 'replied' });
    });

    it('stops when too many answers led to each other', async () => {
      const { hopsMax } = LOOP_DEFAULTS;
      const far = scene(never, undefined, { claimed: saidBy({ hops: hopsMax + 1 }) });
      expect((await far.ended).end).toEqual(stopped('hop_budget'));
      const near = scene(async () => reply, undefined, { claimed: saidBy({ hops: hopsMax }) });
      expect((await near.ended).end).toMatchObject({ how: 'replied' });
    });
  });
});
