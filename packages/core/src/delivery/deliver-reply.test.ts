import { describe, expect, it, test } from 'vitest';
import { StoreError } from '../errors.ts';
import type { AccountId, BootId, MessageId } from '../ids.ts';
import type { ClaimDue, DeliverySettlement, DueDelivery, OwnSend, PausedAccount } from '../ports/delivery.ts';
import type { CommitRequest } from '../ports/lane.ts';
import { Lease } from '../session/lease.ts';
import { noCounter, noHistogram, RecordedStream, turnOf } from '../session/turn.fixture.ts';
import { recordingCounter, SeededIds, settled, silentLogger, VirtualClock } from '../testing/index.ts';
import { ReplyDeliverer, type SentReply } from './deliver-reply.ts';

const account = 'account' as AccountId;
const delivered: SentReply = { platform: 'webhook', outcome: { result: 'delivered', ref: null }, ledgerEnabled: true };

/** A store of pending rows per lane, of which it gives out the first, and a platform that answers when told. */
class Scene {
  readonly clock = new VirtualClock();
  readonly pending: DueDelivery[] = [];
  readonly sends: { readonly delivery: DueDelivery; readonly answer: (sent: SentReply) => void }[] = [];
  readonly settlements: DeliverySettlement[] = [];
  readonly staleFences = recordingCounter('at');
  readonly lease = new Lease(this.clock, { leaseMs: 3000, marginMs: 500 });
  ownSends: OwnSend[] = [];
  readonly pauses: PausedAccount[] = [];
  /** By anybody, as the rows tell. */
  paused: PausedAccount[] = [];
  /** What this worker was asked, as the rows have it. */
  readonly storedPauses = new Map<AccountId, number>();
  /** How long the rows take to be read, milliseconds. */
  pausesReadMs = 0;
  partitions: readonly number[] = [0];
  claimFails = false;
  settleFails = false;
  isMine = true;
  canSend = true;
  accountRead: Promise<void> = Promise.resolve();
  lookPause: Promise<void> = Promise.resolve();
  readonly live = new RecordedStream();
  readonly busyLanes = new Set<string>();
  readonly deliverer: ReplyDeliverer;

  constructor(limits: { readonly sendsMax?: number; readonly sendsPerAccountMax?: number } = {}) {
    this.lease.renewed(0);
    this.deliverer = new ReplyDeliverer({
      ...{ bootId: 'me' as BootId, clock: this.clock, ids: new SeededIds(), log: silentLogger, lease: this.lease },
      ...{ sendsMax: 10, sendsPerAccountMax: 5, ...limits },
      live: this.live,
      partitions: () => this.partitions,
      laneIsBusy: (laneId) => this.busyLanes.has(laneId),
      crashPoints: { hit: () => undefined },
      metrics: {
        ...{ attempts: noCounter, deliveries: noCounter, delaySeconds: noHistogram, staleFences: this.staleFences },
      },
      channels: {
        canSend: async () => this.canSend,
        send: async (delivery, gate) => {
          // as a channel that had to wait for its account first
          await this.accountRead;
          if (!(await gate.mayBegin())) return null;
          return new Promise((answer) => this.sends.push({ delivery, answer }));
        },
      },
      store: {
        claimDue: async (_boot, due) => {
          await this.lookPause;
          return this.#claimDue(due);
        },
        settle: async (_boot, items) => {
          if (this.settleFails) throw unknown();
          this.settlements.push(...items);
          return items.map(() => this.isMine);
        },
        nextDueMs: async () => null,
        ownSends: async () => this.ownSends,
        pauseAccount: async (_tenant, accountId, waitMs) => {
          this.pauses.push({ accountId, leftMs: waitMs });
          this.storedPauses.set(accountId, this.clock.monotonicMs() + waitMs);
        },
        pausedAccounts: async () => {
          await this.clock.sleep(this.pausesReadMs);
          const own = [...this.storedPauses].map(([accountId, untilMs]) => ({
            ...{ accountId, leftMs: untilMs - this.clock.monotonicMs() },
          }));
          return [...this.paused, ...own.filter(({ leftMs }) => leftMs > 0)];
        },
      },
    });
  }

  #claimDue({ limit, lanes, exceptAccounts = [] }: ClaimDue): DueDelivery[] {
    if (this.claimFails) throw unknown();
    const heads: DueDelivery[] = [];
    for (const row of [...this.pending]) {
      const wanted = lanes === undefined || lanes.some(({ laneId }) => laneId === row.lane.laneId);
      const isFirst = !heads.some(({ lane }) => lane.laneId === row.lane.laneId);
      if (!wanted || !isFirst || heads.length >= limit || exceptAccounts.includes(row.accountId)) continue;
      heads.push(row);
      this.pending.splice(this.pending.indexOf(row), 1);
    }
    return heads;
  }

  async answer(i: number, sent: SentReply = delivered): Promise<void> {
    this.sends[i]?.answer(sent);
    await settled();
  }
}

function unknown(): StoreError {
  return new StoreError({ failure: 'unknown', state: '08006', message: 'away' });
}

function rowOf(n: number, seq = '8'): DueDelivery {
  const { lane, agentId } = turnOf(n);
  return {
    ...{ lane, seq, n: 0, messageId: `m${n}-${seq}` as MessageId, accountId: account, attempt: 1, recovered: false },
    ...{ runId: null, turnId: null, sessionKey: 'key', agentId, role: 'assistant', body: { text: 'hi' } },
    ...{ startedAt: null, finishedAt: new Date(0), traceparent: null },
  };
}

/** A committed turn whose reply the commit inserted in this state. */
function commit(scene: Scene, n: number, delivery: 'sending' | 'pending'): void {
  const turn = turnOf(n);
  const request: CommitRequest = {
    ...{ lane: turn.lane, fence: turn.fence, status: 'ok', messageId: `m${n}` as MessageId, reply: { text: 'hi' } },
    ...{ error: null, usage: null, agentVersion: 1, owed: { kind: 'send', accountId: account, sendNow: true } },
  };
  scene.deliverer.committed(turn, request, { result: 'ok', seq: '8', more: false, finishedAt: new Date(0), delivery });
}

test('readers of a lane are told what became of a delivery, when there are any', async () => {
  const scene = new Scene();
  commit(scene, 1, 'sending');
  await settled();
  await scene.answer(0);
  expect(scene.live.events).toMatchObject([
    { type: 'delivery.updated', data: { state: 'delivered', attempt: 1, platformMessageIds: [] } },
  ]);
  scene.live.watched = false;
  commit(scene, 2, 'sending');
  await settled();
  await scene.answer(1);
  expect(scene.live.events).toHaveLength(1);
});

test('a wake-up that comes while due replies are looked for is kept for the next look', async () => {
  const scene = new Scene();
  const [looked, stop] = [Promise.withResolvers<void>(), new AbortController()];
  scene.lookPause = looked.promise;
  const running = scene.deliverer.run(stop.signal);
  await settled();
  scene.deliverer.lookNow();
  looked.resolve();
  await settled();
  // what the look under way did not see: a reply of a partition that was taken meanwhile
  scene.pending.push(rowOf(1));
  await scene.clock.advance(1000);
  expect(scene.sends).toHaveLength(1);
  stop.abort();
  await scene.clock.advance(1000);
  await running;
});

describe('a committed reply', () => {
  it('is sent at once when the commit inserted it as being sent, and recorded', async () => {
    const scene = new Scene();
    commit(scene, 1, 'sending');
    await settled();
    expect(scene.sends[0]?.delivery).toMatchObject({ attempt: 1, seq: '8', body: { text: 'hi' }, messageId: 'm1' });
    await scene.answer(0);
    expect(scene.settlements).toMatchObject([{ seq: '8', attempt: 1, outcome: { state: 'delivered' } }]);
  });

  it('does not leave once the lease is over, however long its account took to read', async () => {
    const scene = new Scene();
    let read: () => void = () => undefined;
    scene.accountRead = new Promise((resolve) => {
      read = resolve;
    });
    commit(scene, 1, 'sending');
    await scene.clock.advance(5_000);
    read();
    await settled();
    expect(scene.sends).toEqual([]);
  });

  it('is taken from its row when it has to wait for its turn', async () => {
    const scene = new Scene();
    scene.pending.push(rowOf(1));
    commit(scene, 1, 'pending');
    await settled();
    expect(scene.sends).toHaveLength(1);
  });

  it('waits until the one before it is settled', async () => {
    const scene = new Scene();
    commit(scene, 1, 'sending');
    scene.pending.push(rowOf(1, '10'), rowOf(1, '12'));
    commit(scene, 1, 'pending');
    await settled();
    expect(scene.sends).toHaveLength(1);
    await scene.answer(0);
    expect(scene.sends.map(({ delivery }) => delivery.seq)).toEqual(['8', '10']);
    await scene.answer(1);
    await scene.answer(2);
    expect(scene.sends.map(({ delivery }) => delivery.seq)).toEqual(['8', '10', '12']);
  });

  it('owes nothing without an account, or through one that cannot send', async () => {
    const scene = new Scene();
    const turn = turnOf(1);
    expect(await scene.deliverer.owedFor(turn)).toEqual({ kind: 'proven' });
    const events = turn.events.map((event) => ({ ...event, accountId: account }));
    expect(await scene.deliverer.owedFor({ ...turn, events })).toMatchObject({ kind: 'send', sendNow: true });
    scene.canSend = false;
    expect(await scene.deliverer.owedFor({ ...turn, events })).toEqual({ kind: 'proven' });
  });
});

describe('sending', () => {
  it('starts only while this worker cannot be taken for dead', async () => {
    const scene = new Scene();
    await scene.clock.advance(2_600);
    commit(scene, 1, 'sending');
    await scene.clock.advance(500);
    expect(scene.sends).toHaveLength(0);
    scene.lease.renewed(scene.clock.monotonicMs());
    await scene.clock.advance(100);
    expect(scene.sends).toHaveLength(1);
  });

  it('never starts once this worker is dead', async () => {
    const scene = new Scene();
    await scene.clock.advance(2_600);
    commit(scene, 1, 'sending');
    await scene.deliverer.stop();
    scene.lease.renewed(scene.clock.monotonicMs());
    await scene.clock.advance(1_000);
    expect(scene.sends).toHaveLength(0);
    expect(scene.settlements).toEqual([]);
  });

  it('is bounded: rows that find no place wait in the store', async () => {
    const scene = new Scene({ sendsMax: 2 });
    const end = new AbortController();
    for (let n = 0; n < 5; n++) scene.pending.push(rowOf(n));
    void scene.deliverer.run(end.signal);
    await scene.clock.advance(10);
    expect(scene.sends).toHaveLength(2);
    expect(scene.pending).toHaveLength(3);
    await scene.answer(0);
    await scene.clock.advance(2_000);
    expect(scene.sends).toHaveLength(3);
    end.abort();
  });

  it('leaves rows of an account that has all its places taken where they are, until one is free', async () => {
    const scene = new Scene({ sendsPerAccountMax: 1 });
    const end = new AbortController();
    commit(scene, 1, 'sending');
    const other = { ...rowOf(3), accountId: 'other' as AccountId };
    scene.pending.push(rowOf(2), other);
    void scene.deliverer.run(end.signal);
    await scene.clock.advance(100);
    expect(scene.sends.map(({ delivery }) => delivery.accountId)).toEqual([account, 'other']);
    await scene.answer(0);
    await scene.clock.advance(100);
    expect(scene.sends.at(-1)?.delivery.lane).toEqual(turnOf(2).lane);
    end.abort();
  });

  it('tells commits to store what one account has no place for', async () => {
    const scene = new Scene({ sendsPerAccountMax: 1 });
    const events = turnOf(1).events.map((event) => ({ ...event, accountId: account }));
    commit(scene, 1, 'sending');
    expect(await scene.deliverer.owedFor({ ...turnOf(2), events })).toMatchObject({ sendNow: false });
  });

  it('stops through an account whose platform asks for a wait, and goes on, in order, when it is over', async () => {
    const scene = new Scene();
    const end = new AbortController();
    const flood = { result: 'refused', code: 'http_429', retryAfterMs: 60_000, scope: 'account' } as const;
    scene.pending.push({ ...rowOf(1), finishedAt: new Date(scene.clock.nowMs()) });
    void scene.deliverer.run(end.signal);
    await scene.clock.advance(10);
    await scene.answer(0, { platform: 'webhook', outcome: flood, ledgerEnabled: true });
    expect(scene.pauses).toEqual([{ accountId: account, leftMs: 60_000 }]);
    expect(scene.settlements).toMatchObject([{ outcome: { state: 'pending', error: { code: 'http_429' } } }]);
    scene.pending.push(rowOf(2), { ...rowOf(3), accountId: 'other' as AccountId });
    scene.deliverer.due(rowOf(2).lane);
    const turn = turnOf(4);
    const events = turn.events.map((event) => ({ ...event, accountId: account }));
    expect(await scene.deliverer.owedFor({ ...turn, events })).toMatchObject({ kind: 'send', sendNow: false });
    await scene.clock.advance(59_000);
    expect(scene.sends.map(({ delivery }) => delivery.lane)).toEqual([rowOf(1).lane, rowOf(3).lane]);
    expect(scene.deliverer.pausedMs).toBeGreaterThan(0);
    scene.lease.renewed(scene.clock.monotonicMs());
    await scene.clock.advance(1_100);
    expect(scene.sends.at(-1)?.delivery.lane).toEqual(rowOf(2).lane);
    expect(scene.deliverer.pausedMs).toBe(0);
    end.abort();
  });

  it('knows of a pause that another worker was asked for, and of a day at most', async () => {
    const scene = new Scene();
    const end = new AbortController();
    scene.paused = [{ accountId: account, leftMs: 10_000 }];
    scene.pending.push(rowOf(1));
    void scene.deliverer.run(end.signal);
    await scene.clock.advance(2_500);
    expect(scene.sends).toHaveLength(0);
    scene.paused = [];
    await scene.clock.advance(9_000);
    scene.lease.renewed(scene.clock.monotonicMs());
    await scene.clock.advance(1_000);
    expect(scene.sends).toHaveLength(1);
    const endless = { result: 'refused', code: 'http_429', retryAfterMs: 1e12, scope: 'account' } as const;
    await scene.answer(0, { platform: 'webhook', outcome: endless, ledgerEnabled: true });
    expect(scene.pauses).toEqual([{ accountId: account, leftMs: 24 * 60 * 60 * 1000 }]);
    expect(scene.settlements).toMatchObject([{ outcome: { state: 'abandoned' } }]);
    end.abort();
  });

  it('knows of pauses within a second, without partitions too, and never shortens its own by how long reading takes', async () => {
    const scene = new Scene();
    const end = new AbortController();
    scene.partitions = [];
    scene.pausesReadMs = 400;
    void scene.deliverer.run(end.signal);
    await scene.clock.advance(500);
    scene.paused = [{ accountId: 'other' as AccountId, leftMs: 5_000 }];
    const events = turnOf(1).events.map((event) => ({ ...event, accountId: 'other' as AccountId }));
    await scene.clock.advance(1_400);
    expect(await scene.deliverer.owedFor({ ...turnOf(1), events })).toMatchObject({ sendNow: false });
    scene.paused = [];
    commit(scene, 2, 'sending');
    await settled();
    const flood = { result: 'refused', code: 'http_429', retryAfterMs: 60_000, scope: 'account' } as const;
    await scene.answer(0, { platform: 'webhook', outcome: flood, ledgerEnabled: true });
    for (let i = 0; i < 50; i++) await scene.clock.advance(1_000);
    expect(scene.deliverer.pausedMs).toBe(10_000);
    end.abort();
  });

  it('is recorded as unknown when a channel fails in a way nobody foresaw', async () => {
    const scene = new Scene();
    commit(scene, 1, 'sending');
    await settled();
    await scene.answer(0, Promise.reject(new Error('a bug')) as unknown as SentReply);
    expect(scene.settlements).toMatchObject([{ outcome: { state: 'unknown' } }]);
  });

  it('is recorded again and again until the store answers', async () => {
    const scene = new Scene();
    scene.settleFails = true;
    commit(scene, 1, 'sending');
    await settled();
    await scene.answer(0);
    await scene.clock.advance(30_000);
    scene.settleFails = false;
    await scene.clock.advance(5_000);
    expect(scene.settlements).toHaveLength(1);
  });

  it('counts what was not recorded because the row is somebody else’s by now', async () => {
    const scene = new Scene();
    scene.isMine = false;
    commit(scene, 1, 'sending');
    await settled();
    await scene.answer(0);
    expect(scene.staleFences.seen).toEqual({ settle: 1 });
  });
});

describe('a row whose claim got no answer', () => {
  const sending = (n: number, ageMs: number): OwnSend => ({ lane: turnOf(n).lane, seq: '8', n: 0, attempt: 1, ageMs });

  it('is given back unsent after a while, but not one that is in hand or about to be', async () => {
    const scene = new Scene();
    const end = new AbortController();
    commit(scene, 1, 'sending');
    await settled();
    scene.claimFails = true;
    scene.deliverer.due(turnOf(2).lane);
    await settled();
    scene.claimFails = false;
    scene.busyLanes.add(turnOf(3).lane.laneId);
    scene.ownSends = [sending(1, 60_000), sending(2, 60_000), sending(3, 60_000), sending(4, 3_000)];
    void scene.deliverer.run(end.signal);
    await scene.clock.advance(8_000);
    expect(scene.settlements).toEqual([]);
    await scene.clock.advance(6_000);
    expect(scene.settlements.map(({ lane }) => lane)).toEqual([turnOf(2).lane]);
    expect(scene.settlements[0]?.outcome).toMatchObject({ state: 'pending', afterMs: 0 });
    end.abort();
  });
});
