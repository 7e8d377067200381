import { describe, expect, it } from 'vitest';
import { StoreError } from '../errors.ts';
import {
  type AccountId,
  type AgentId,
  type BootId,
  type EventId,
  formatId,
  laneIdOf,
  slotOf,
  type TenantId,
} from '../ids.ts';
import type { AcceptItem, AcceptResult } from '../ports/intake.ts';
import type { LiveEvent, WakeUp } from '../ports/signals.ts';
import { SeededIds } from '../testing/seeded-ids.ts';
import { settled, VirtualClock } from '../testing/virtual-clock.ts';
import { AcceptMessage, type InboundMessage } from './accept-message.ts';
import { QueuedEstimate } from './queued-estimate.ts';

const tenantId = '11111111-0000-7000-8000-000000000000' as TenantId;
const agentId = '22222222-0000-7000-8000-000000000000' as AgentId;
const accountId = '33333333-0000-7000-8000-000000000000' as AccountId;
const firstEventId = '44444444-0000-7000-8000-000000000000' as EventId;

const limits = { ratePerSecond: null, burst: null, turnSlots: 100, queuedPerLane: 7, queuedPerTenant: 10 };
const keyPolicy = {
  name: 'standard',
  groupSessionsPerUser: true,
  threadSessionsPerUser: false,
  dmScope: 'main',
  mainKey: 'main',
  identityLinks: {},
  scope: 'per_user',
} as const;

const message = (changes: Partial<InboundMessage> = {}): InboundMessage => ({
  tenant: { tenantId, name: 'demo', limits },
  agent: { agentId, name: 'main', keyPolicy },
  account: null,
  target: { source: { platform: 'telegram', chatType: 'dm', chatId: '7' } },
  kind: 'message',
  content: { text: 'hello' },
  idempotency: null,
  traceparent: null,
  onQuota: 'answer',
  ...changes,
});

function setUp(answer: (item: AcceptItem, i: number) => AcceptResult = (_, i) => accepted(i)) {
  const log: string[] = [];
  const stored: AcceptItem[][] = [];
  const woken: [number, readonly WakeUp[]][] = [];
  const failures: StoreError[] = [];
  const clock = new VirtualClock();
  const queued = new QueuedEstimate();
  const told: LiveEvent[] = [];
  const acceptMessage = new AcceptMessage({
    nodeId: '55555555-0000-7000-8000-000000000000' as BootId,
    intake: {
      accept: (_node, items) => {
        log.push('commit');
        stored.push([...items]);
        const failure = failures.shift();
        return failure === undefined ? Promise.resolve(items.map(answer)) : Promise.reject(failure);
      },
    },
    wakeUps: {
      wake: (partition, wakeUps) => {
        log.push('wake');
        woken.push([partition, wakeUps]);
      },
    },
    queued,
    live: { isWatched: () => true, publish: (_lane, event) => told.push(event) },
    partitionOf: (slot) => slot % 16,
    clock,
    ids: new SeededIds(),
    crashPoints: { hit: (name) => log.push(name) },
  });
  return { acceptMessage, clock, log, stored, woken, failures, queued, told };
}

const accepted = (position: number): AcceptResult => ({ result: 'accepted', position, ord: `${100 + position}` });

describe('an accepted message', () => {
  it('is stored under the key of its source and wakes its partition after the commit', async () => {
    const { acceptMessage, log, stored, woken } = setUp();
    const acceptance = await acceptMessage.accept(message());
    const sessionKey = 'agent:main:telegram:dm:7';
    const lane = {
      slot: slotOf('demo', 'main', sessionKey),
      tenantId,
      laneId: laneIdOf(tenantId, agentId, sessionKey),
    };
    expect(acceptance).toMatchObject({ status: 'accepted', sessionKey, lane, partition: lane.slot % 16, position: 0 });
    expect(stored[0]?.[0]).toMatchObject({ ...lane, eventId: acceptance.eventId, laneCap: 7, kind: 'message' });
    expect(woken).toEqual([[lane.slot % 16, [{ lane, ord: '100' }]]]);
    expect(log).toEqual(['accept.before-commit', 'commit', 'accept.after-commit', 'activate.before', 'wake']);
  });

  it('is told to the readers of its lane; one that came before is not', async () => {
    const { acceptMessage, told } = setUp();
    const { eventId } = await acceptMessage.accept(message());
    const ids = { eventId: formatId('evt', eventId), runId: formatId('run', eventId) };
    expect(told).toMatchObject([
      { type: 'event.accepted', runIds: [ids.runId], data: { ...ids, kind: 'message', position: 0 } },
    ]);
    const lane = { slot: 1, tenantId, laneId: laneIdOf(tenantId, agentId, 'k') };
    const again = setUp(() => ({ result: 'duplicate', eventId, lane, position: 0 }));
    await again.acceptMessage.accept(message());
    expect(again.told).toEqual([]);
  });

  it('addressed by a key goes to the lane of that key, with the source of the api', async () => {
    const { acceptMessage, stored } = setUp();
    await acceptMessage.accept(message({ target: { sessionKey: 'mine' }, account: { accountId, name: 'hook' } }));
    expect(stored[0]?.[0]).toMatchObject({
      sessionKey: 'mine',
      accountId,
      body: { text: 'hello', source: { platform: 'api', chatType: 'dm', chatId: 'mine' } },
    });
  });

  it('without an idempotency key has its own id as dedupe key', async () => {
    const { acceptMessage, stored } = setUp();
    const { eventId } = await acceptMessage.accept(message());
    expect(stored[0]?.[0]?.dedupe.key).toBe(`evt:${eventId}`);
  });

  it('is stored with others of its moment in one batch, each partition woken once', async () => {
    const { acceptMessage, stored, woken } = setUp();
    await Promise.all(Array.from({ length: 50 }, () => acceptMessage.accept(message())));
    expect(stored.map((batch) => batch.length)).toEqual([50]);
    expect(woken.map(([, wakeUps]) => wakeUps.length)).toEqual([50]);
  });

  it('keeps its id when an unclear outcome is repeated', async () => {
    const { acceptMessage, clock, stored, failures } = setUp();
    failures.push(new StoreError({ failure: 'unknown', state: '08006', message: 'lost' }));
    const answer = acceptMessage.accept(message());
    await clock.advance(1000);
    const { eventId } = await answer;
    expect(stored.map((batch) => batch[0]?.eventId)).toEqual([eventId, eventId]);
  });
});

describe('a duplicate', () => {
  const lane = { slot: 5, tenantId, laneId: laneIdOf(tenantId, agentId, 'old') };

  it('answers the first acceptance and wakes its lane again', async () => {
    const { acceptMessage, woken } = setUp(() => ({ result: 'duplicate', eventId: firstEventId, lane, position: 4 }));
    const first = { status: 'duplicate', eventId: firstEventId, lane, position: 4 };
    expect(await acceptMessage.accept(message())).toMatchObject(first);
    expect(woken).toEqual([[5, [{ lane, ord: null }]]]);
  });

  it('with another body is refused', async () => {
    const { acceptMessage, woken } = setUp(() => ({ result: 'mismatch', eventId: firstEventId }));
    await expect(acceptMessage.accept(message())).rejects.toMatchObject({ code: 'idempotency_mismatch' });
    expect(woken).toEqual([]);
  });
});

describe('quotas', () => {
  const fullUnlessRefused = (item: AcceptItem): AcceptResult =>
    item.refused === undefined ? { result: 'lane_full' } : accepted(0);

  it('answers a full lane with 429 and stores nothing', async () => {
    const { acceptMessage, woken } = setUp(fullUnlessRefused);
    await expect(acceptMessage.accept(message())).rejects.toMatchObject({ code: 'lane_full', retryable: true });
    expect(woken).toEqual([]);
  });

  it('stores a platform’s message for a full lane as a refused run that wakes nobody', async () => {
    const { acceptMessage, stored, woken } = setUp(fullUnlessRefused);
    const acceptance = await acceptMessage.accept(message({ onQuota: 'store' }));
    expect(acceptance).toMatchObject({ status: 'accepted', refused: 'lane_full' });
    expect(stored.at(-1)?.[0]?.refused).toEqual({ code: 'lane_full' });
    expect(woken).toEqual([]);
  });

  it('refuses when the tenant’s queue is full, before anything is written', async () => {
    const { acceptMessage, stored, queued } = setUp();
    queued.update(new Map([[tenantId, { queued: 9, measuredAtMs: 1, ageMs: 0 }]]));
    await acceptMessage.accept(message());
    await expect(acceptMessage.accept(message())).rejects.toMatchObject({ code: 'tenant_queue_full' });
    expect(stored).toHaveLength(1);
    expect(await acceptMessage.accept(message({ onQuota: 'store' }))).toMatchObject({ refused: 'tenant_queue_full' });
  });

  it('stores a refusal that its caller found', async () => {
    const { acceptMessage, stored } = setUp();
    await acceptMessage.accept(message({ onQuota: 'store', refusal: 'rate_limited' }));
    expect(stored[0]?.[0]?.refused).toEqual({ code: 'rate_limited' });
  });
});

describe('failures', () => {
  it('refuses the one message that the store cannot hold', async () => {
    const { acceptMessage, failures } = setUp();
    failures.push(new StoreError({ failure: 'row', state: '22P05', message: 'bad' }));
    await expect(acceptMessage.accept(message())).rejects.toMatchObject({ code: 'invalid_field' });
  });

  it('says that the store is unavailable when it stays away', async () => {
    const { acceptMessage, clock, failures } = setUp();
    for (let i = 0; i < 50; i++) failures.push(new StoreError({ failure: 'unknown', state: '08006', message: 'lost' }));
    const refused = expect(acceptMessage.accept(message())).rejects.toMatchObject({ code: 'store_unavailable' });
    await clock.advance(6000);
    await refused;
  });

  it('holds a bounded number of bytes and refuses above it', async () => {
    const { acceptMessage } = setUp();
    const large = message({ content: { text: 'x'.repeat(1024 * 1024) } });
    const answers = await Promise.allSettled(Array.from({ length: 40 }, () => acceptMessage.accept(large)));
    await settled();
    expect(answers.some((answer) => answer.status === 'rejected' && answer.reason.code === 'overloaded')).toBe(true);
    expect(await acceptMessage.accept(large)).toMatchObject({ status: 'accepted' });
  });
});
