import {
  type EventId,
  type InputId,
  type LaneId,
  type LiveEvent,
  type RunRecord,
  StoreError,
  type TenantId,
} from '@turnkeeper/core';
import { settled, VirtualClock } from '@turnkeeper/core/testing';
import { describe, expect, it } from 'vitest';
import { RunWaiters } from './run-waiters.ts';

const tenantId = 't' as TenantId;
const laneId = 'l' as LaneId;

const runOf = (runId: string, status: RunRecord['status'] = 'queued'): RunRecord => ({
  runId: runId as EventId,
  tenantId,
  lane: { slot: 0, tenantId, laneId },
  sessionKey: 'k',
  sessionId: null,
  turnId: null,
  status,
  attempts: 0,
  reply: null,
  errorCode: null,
  createdAt: new Date(0),
  startedAt: null,
  finishedAt: null,
});

const asking = (runId: string, inputId: string): RunRecord => ({
  ...runOf(runId, 'waiting'),
  inputId: inputId as InputId,
});

const quietLogger = () => {
  const failures: unknown[] = [];
  const logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
    failed: (error: unknown) => failures.push(error),
    child: () => logger,
  };
  return { logger, failures };
};

function setUp() {
  const clock = new VirtualClock();
  const rows = new Map<string, RunRecord>();
  const reads: string[][] = [];
  const listeners = new Set<(event: LiveEvent) => void>();
  const store = { isAway: false };
  const { logger, failures } = quietLogger();
  const waiters = new RunWaiters({
    runs: {
      byIds: async (wanted) => {
        reads.push(wanted.map(({ runId }) => runId));
        if (store.isAway) throw new StoreError({ failure: 'unknown', state: '08006', message: 'away' });
        return wanted.map(({ runId }) => rows.get(runId) ?? null);
      },
    },
    live: {
      connected: true,
      subscribe: (_lane, onEvent) => {
        listeners.add(onEvent);
        return () => listeners.delete(onEvent);
      },
    },
    clock,
    logger,
    waitersMax: 200,
  });
  const wait = (runId: string, ms: number, signal = new AbortController().signal) => {
    const run = rows.get(runId) ?? runOf(runId);
    rows.set(runId, run);
    return waiters.wait(run, ms, signal);
  };
  const say = (type: string) => {
    for (const listener of listeners) listener({ type, at: '', sessionKey: 'k', data: {} });
  };
  const sayEnded = () => say('run.settled');
  return { clock, rows, reads, listeners, store, failures, waiters, wait, say, sayEnded };
}

/** The promise's value if it has one by now. */
async function now<T>(promise: Promise<T>): Promise<T | 'waits'> {
  await settled();
  return Promise.race([promise, Promise.resolve('waits' as const)]);
}

describe('a caller who waits', () => {
  it('is answered when the run has ended, by the poll alone', async () => {
    const { clock, rows, wait } = setUp();
    const answer = wait('a', 30_000);
    await clock.advance(5_000);
    expect(await now(answer)).toBe('waits');
    rows.set('a', runOf('a', 'ok'));
    await clock.advance(1_000);
    expect(await now(answer)).toMatchObject({ status: 'ok' });
  });

  it('is answered soon for a short turn whose live event was missed', async () => {
    const { clock, rows, wait } = setUp();
    const answer = wait('a', 30_000);
    await clock.advance(30);
    rows.set('a', runOf('a', 'ok'));
    await clock.advance(30);
    expect(await now(answer)).toMatchObject({ status: 'ok' });
  });

  it('is answered at once when a live event says so', async () => {
    const { clock, rows, wait, sayEnded } = setUp();
    const answer = wait('a', 30_000);
    await clock.advance(1_100);
    rows.set('a', runOf('a', 'ok'));
    sayEnded();
    await clock.advance(5);
    expect(await now(answer)).toMatchObject({ status: 'ok' });
  });

  it('is not deceived by an event that is not true', async () => {
    const { clock, wait, sayEnded } = setUp();
    const answer = wait('a', 30_000);
    sayEnded();
    await clock.advance(500);
    expect(await now(answer)).toBe('waits');
  });

  it('is told how it stands when the time is over', async () => {
    const { clock, rows, wait } = setUp();
    const answer = wait('a', 2_500);
    await clock.advance(2_400);
    rows.set('a', runOf('a', 'running'));
    await clock.advance(200);
    expect(await now(answer)).toMatchObject({ status: 'running' });
  });

  it('is answered at once for a run that has ended, without reading', async () => {
    const { reads, rows, wait } = setUp();
    rows.set('a', runOf('a', 'ok'));
    expect(await wait('a', 30_000)).toMatchObject({ status: 'ok' });
    expect(reads).toEqual([]);
  });

  it('is answered at once when the run asks a person', async () => {
    const { clock, rows, wait, say } = setUp();
    const answer = wait('a', 30_000);
    await clock.advance(1_100);
    rows.set('a', asking('a', 'inp-1'));
    say('input.required');
    await clock.advance(5);
    expect(await now(answer)).toMatchObject({ status: 'waiting', inputId: 'inp-1' });
  });

  it('and knows the question already is answered by what becomes of it, within a second in any case', async () => {
    const { clock, rows, wait, say } = setUp();
    rows.set('a', asking('a', 'inp-1'));
    const first = wait('a', 30_000);
    await clock.advance(900);
    expect(await now(first)).toBe('waits');
    await clock.advance(200);
    expect(await now(first)).toMatchObject({ status: 'waiting' });
    const next = wait('a', 30_000);
    await clock.advance(200);
    rows.set('a', asking('a', 'inp-2'));
    say('input.required');
    await clock.advance(5);
    expect(await now(next)).toMatchObject({ inputId: 'inp-2' });
  });

  it('learns of an end between the reading of its run and its waiting', async () => {
    const { clock, rows, waiters } = setUp();
    rows.set('a', runOf('a', 'ok'));
    const answer = waiters.wait(runOf('a'), 30_000, new AbortController().signal);
    await clock.advance(10);
    expect(await now(answer)).toMatchObject({ status: 'ok' });
  });

  it('costs nothing once gone', async () => {
    const { clock, reads, listeners, wait } = setUp();
    const gone = new AbortController();
    const answer = wait('a', 30_000, gone.signal);
    await clock.advance(100);
    gone.abort();
    await answer;
    const before = reads.length;
    await clock.advance(10_000);
    expect(reads.length).toBe(before);
    expect([listeners.size, clock.sleeping]).toEqual([0, 0]);
  });
});

describe('callers who wait together', () => {
  it('share each reading, which comes soon at first and then once a second', async () => {
    const { clock, reads, wait } = setUp();
    const answers = ['a', 'b', 'b', 'c'].map((runId) => wait(runId, 60_000));
    await clock.advance(1_000);
    expect(reads.length).toBeGreaterThan(3);
    expect(reads.length).toBeLessThan(8);
    reads.length = 0;
    await clock.advance(10_000);
    expect(reads.length).toBe(10);
    for (const read of reads) expect(read).toEqual(['a', 'b', 'c']);
    expect(await now(Promise.race(answers))).toBe('waits');
  });

  it('cost at most twenty readings a second, however many wait and whenever they came', async () => {
    const { clock, reads, wait } = setUp();
    for (let i = 0; i < 90; i++) {
      void wait(`${i}`, 60_000);
      await clock.advance(7);
    }
    await clock.advance(2_000);
    reads.length = 0;
    await clock.advance(10_000);
    expect(reads.length).toBeLessThanOrEqual(200);
    expect(reads.flat()).toHaveLength(900);
  });

  it('are all answered when the node drains, and so are those who come later', async () => {
    const { wait, waiters } = setUp();
    const answers = [wait('a', 30_000), wait('b', 30_000)];
    await settled();
    waiters.drain();
    expect(await Promise.all([...answers, wait('c', 30_000)])).toMatchObject([
      { status: 'queued' },
      { status: 'queued' },
      { status: 'queued' },
    ]);
  });

  it('are refused above the bound', async () => {
    const { wait } = setUp();
    for (let i = 0; i < 150; i++) void wait(`${i}`, 30_000);
    await expect(wait('one more than a tenant may', 30_000)).rejects.toMatchObject({
      code: 'too_many_waiters',
      retryable: true,
    });
  });
});

describe('while the store is away', () => {
  it('callers wait on, and are answered when it is back', async () => {
    const { clock, rows, store, failures, wait } = setUp();
    store.isAway = true;
    const answer = wait('a', 30_000);
    await clock.advance(5_000);
    expect(await now(answer)).toBe('waits');
    expect(failures.length).toBeGreaterThan(0);
    store.isAway = false;
    rows.set('a', runOf('a', 'ok'));
    await clock.advance(1_100);
    expect(await now(answer)).toMatchObject({ status: 'ok' });
  });

  it('a caller whose time is over gets 503', async () => {
    const { clock, store, wait } = setUp();
    store.isAway = true;
    const refused = expect(wait('a', 2_000)).rejects.toMatchObject({ code: 'store_unavailable' });
    await clock.advance(2_100);
    await refused;
  });
});
