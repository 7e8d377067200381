/** Redis comes, goes, stands still and forgets: what its adapter then does. Processes of its own, stopped and killed. */
import type { BootId, LaneId, TenantId } from '@turnkeeper/core';
import { recordingCounter, recordingLogger } from '@turnkeeper/core/testing';
import { type LocalServices, startLocalServices } from '@turnkeeper/platform/local-services';
import { systemClock as clock, systemIds as ids } from '@turnkeeper/platform/process';
import {
  ActivationConsumers,
  openRedis,
  QueuedWakeUps,
  RedisLaneLocks,
  type RedisLink,
  RedisRateLimits,
  RedisTenantSlots,
} from '@turnkeeper/queue';
import { until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

let services: LocalServices;
const lane = { slot: 7, tenantId: ids.next() as TenantId, laneId: ids.next() as LaneId };
const bootId = ids.next() as BootId;

beforeAll(async () => {
  services = await startLocalServices({ need: ['redis'], prefer: 'program', env: {} });
});

afterAll(() => services.stop());

async function open(url = services.urls.redis) {
  const lines: string[] = [];
  const logger = recordingLogger((line) => lines.push(line));
  const link = await openRedis({ url, keyPrefix: `t-${ids.next()}`, clock, ids, logger });
  onTestFinished(() => link[Symbol.asyncDispose]());
  return { link, lines, locks: new RedisLaneLocks({ link, partitionOf: (slot) => slot }) };
}

/** Wake-ups of partition 7, from producer to consumer; `arrives` sends until one is received. */
function openActivations(link: RedisLink) {
  const outcomes = recordingCounter('outcome');
  const wakeUps = new QueuedWakeUps({ link, clock, outcomes });
  const consumers = new ActivationConsumers({ url: services.urls.redis, link, clock, ids, outcomes });
  onTestFinished(() => consumers[Symbol.asyncDispose]());
  onTestFinished(() => wakeUps[Symbol.asyncDispose]());
  let received = 0;
  const consume = () => consumers.consume({ partition: 7, onWakeUps: () => received++ });
  const wake = () => wakeUps.wake(7, [{ lane, ord: '1' }]);
  const arrives = () => {
    const before = received;
    return until('a wake-up arrives', () => {
      wake();
      return received > before;
    });
  };
  return { consume, wake, arrives, seen: outcomes.seen };
}

/** Takes Redis away for the time of a test's part, in one of the ways in which it may go. */
const ABSENCES = {
  killed: {
    leave: () => services.stopService('redis', 'immediate'),
    comeBack: () => services.startService('redis'),
  },
  'standing still': { leave: () => signal('SIGSTOP'), comeBack: () => signal('SIGCONT') },
};

async function signal(name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  for (const { pid } of services.processes) process.kill(pid, name);
}

test.each(['killed', 'standing still'] as const)(
  'Redis is %s and comes back: nothing waits for it, everything goes on',
  async (how) => {
    const { leave, comeBack } = ABSENCES[how];
    const { link, lines, locks } = await open();
    const { consume, arrives } = openActivations(link);
    consume();
    await arrives();

    await leave();
    onTestFinished(comeBack);
    // one call may find out by waiting for a second; if others waited too, a thousand would outlast the test
    await until('the link knows', async () => (await locks.take(bootId, [lane]))[0]?.held === 'away' && link.away);
    for (let n = 0; n < 1000; n++) expect(await locks.renew(bootId, [lane])).toEqual([{ held: 'away' }]);

    await comeBack();
    await until('Redis is found again', () => !link.away);
    expect(await locks.take(bootId, [lane])).toEqual([{ held: 'mine' }]);
    await arrives();
    expect(lines).toEqual(['redis answers', 'redis does not answer; working without it', 'redis answers']);
  },
);

test('without Redis a process starts, and works with it as soon as it is there', async () => {
  await services.stopService('redis', 'immediate');
  onTestFinished(() => services.startService('redis'));
  const { link, lines, locks } = await open();
  expect(link.away).toBe(true);
  const { consume, wake, arrives, seen } = openActivations(link);
  consume();
  wake();
  expect(seen['queue_away']).toBe(1);
  expect(await locks.take(bootId, [lane])).toEqual([{ held: 'away' }]);
  expect(await new RedisTenantSlots({ link }).exchange(bootId, new Map())).toBe('away');

  await services.startService('redis');

  await arrives();
  expect(await locks.take(bootId, [lane])).toEqual([{ held: 'mine' }]);
  expect(lines).toEqual(['redis does not answer; working without it', 'redis answers']);
});

test('without Redis each node grants its share of a rate', async () => {
  const { link } = await open();
  const rates = new RedisRateLimits({ link, clock, nodes: () => 2 });
  onTestFinished(() => rates[Symbol.dispose]());
  const limit = { perSecond: 0.01, burst: 10 };
  await services.stopService('redis', 'immediate');
  onTestFinished(() => services.startService('redis'));
  await until('the link knows', () => link.away);
  const tenantId = ids.next() as TenantId;
  const answers = await Promise.all(Array.from({ length: 10 }, () => rates.take(tenantId, limit)));
  expect(answers.filter(({ allowed }) => allowed)).toHaveLength(5);
  expect(answers[9]).toMatchObject({ allowed: false, limit: 5, remaining: 0 });
});

test('FLUSHALL costs a lock or a wake-up, and nothing stops', async () => {
  const { link, locks } = await open();
  const { consume, arrives } = openActivations(link);
  consume();
  await arrives();
  const rival = ids.next() as BootId;
  await locks.take(bootId, [lane]);

  await link.run((client) => client.flushall());

  expect(await locks.renew(bootId, [lane])).toEqual([{ held: 'mine' }]);
  expect(await locks.take(rival, [lane])).toEqual([{ held: 'other', by: bootId }]);
  await arrives();
});

test('a consumer is closed within seconds while Redis stands still, and gets nothing afterwards', async () => {
  const { link } = await open();
  const { consume, arrives, seen } = openActivations(link);
  const consumer = consume();
  await arrives();
  await signal('SIGSTOP');
  onTestFinished(() => signal('SIGCONT'));
  await consumer.close();
  await signal('SIGCONT');
  await until('Redis is found again', () => !link.away);
  const before = seen['received'];
  consume();
  await arrives();
  expect(seen['received']).toBeGreaterThan(before ?? 0);
});

test('a Redis that may evict keys is refused in one sentence at the start, and worked without later', async () => {
  const { link, lines } = await open();
  await link.run((client) => client.config('SET', 'maxmemory-policy', 'allkeys-lru'));
  onTestFinished(async () => {
    const { link: again } = await open();
    await again.client.config('SET', 'maxmemory-policy', 'noeviction');
  });
  await expect(open()).rejects.toMatchObject({
    code: 'config_invalid',
    message: /maxmemory-policy allkeys-lru.*noeviction/,
  });

  link.client.disconnect(true);
  await until('the link has seen it', () => lines.some((line) => line.includes('allkeys-lru')));
  expect(link.away).toBe(true);
  await link.client.config('SET', 'maxmemory-policy', 'noeviction');
  await until('the link works again', () => !link.away);
});
