import type { WakeUp } from '@turnkeeper/core';
import { recordingCounter } from '@turnkeeper/core/testing';
import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { ActivationConsumers } from './activation-consumers.ts';
import { QueuedWakeUps } from './queued-wake-ups.ts';
import type { RedisLink } from './redis-link.ts';
import { clock, ids, newLane, openTestLink } from './testing.ts';

/** FLUSHDB is in here: a database of its own. */
const url = withDatabase(inject('urls').redis, 9);

function withDatabase(given: string, database: number): string {
  const parsed = new URL(given);
  parsed.pathname = `/${database}`;
  return parsed.toString();
}

function startWakeUps(link: RedisLink) {
  const outcomes = recordingCounter('outcome');
  const wakeUps = new QueuedWakeUps({ link, clock, outcomes });
  onTestFinished(() => wakeUps[Symbol.asyncDispose]());
  return { wakeUps, outcomes: outcomes.seen };
}

function startConsumers(link: RedisLink) {
  const outcomes = recordingCounter('outcome');
  const consumers = new ActivationConsumers({ url, link, clock, ids, outcomes });
  onTestFinished(() => consumers[Symbol.asyncDispose]());
  const received: (readonly WakeUp[] | 'scan')[] = [];
  const consume = (partition: number) => consumers.consume({ partition, onWakeUps: (said) => received.push(said) });
  return { consumers, consume, received, outcomes: outcomes.seen };
}

function wakeUp(ord: string | null = '1'): WakeUp {
  return { lane: newLane(7), ord };
}

test('wake-ups of a partition reach its consumer in one job, each lane once with its highest event', async () => {
  const link = await openTestLink(url);
  const { wakeUps, outcomes } = startWakeUps(link);
  const { consume, received } = startConsumers(link);
  consume(3);
  const [a, b] = [wakeUp('9'), wakeUp(null)];

  wakeUps.wake(3, [a, b]);
  wakeUps.wake(3, [{ ...a, ord: '10' }]);
  wakeUps.wake(4, [wakeUp()]);

  await vi.waitFor(() => expect(received).toEqual([[{ ...a, ord: '10' }, b]]), { timeout: 10_000 });
  expect(outcomes).toEqual({ queued: 2 });
});

test('a flood of lanes is told as a scan', async () => {
  const link = await openTestLink(url);
  const { wakeUps } = startWakeUps(link);
  const { consume, received } = startConsumers(link);
  consume(0);
  wakeUps.wake(
    0,
    Array.from({ length: 5000 }, () => wakeUp()),
  );
  await vi.waitFor(() => expect(received).toEqual(['scan']), { timeout: 10_000 });
});

test('jobs wait for a consumer; the next owner of a partition gets what the last one left', async () => {
  const link = await openTestLink(url);
  const { wakeUps, outcomes } = startWakeUps(link);
  const first = startConsumers(link);
  await first.consume(3).close();
  const woken = wakeUp();
  wakeUps.wake(3, [woken]);
  await vi.waitFor(() => expect(outcomes).toEqual({ queued: 1 }), { timeout: 10_000 });

  const second = startConsumers(link);
  second.consume(3);

  await vi.waitFor(() => expect(second.received).toEqual([[woken]]), { timeout: 10_000 });
  expect(first.received).toEqual([]);
});

test('wake-ups go on after Redis lost everything', async () => {
  const link = await openTestLink(url);
  const { wakeUps } = startWakeUps(link);
  const { consume, received } = startConsumers(link);
  consume(3);
  const [before, after] = [wakeUp(), wakeUp()];
  wakeUps.wake(3, [before]);
  await vi.waitFor(() => expect(received).toEqual([[before]]), { timeout: 10_000 });

  await link.client.flushdb();
  wakeUps.wake(3, [after]);

  await vi.waitFor(() => expect(received).toEqual([[before], [after]]), { timeout: 10_000 });
});

test('a job that nobody can read is dropped and counted', async () => {
  const link = await openTestLink(url);
  const { wakeUps } = startWakeUps(link);
  const { consume, received, outcomes } = startConsumers(link);
  wakeUps.wake(3, [{ lane: { ...newLane(1), slot: -1 }, ord: '1' }]);
  consume(3);
  await vi.waitFor(() => expect(outcomes).toEqual({ malformed: 1 }), { timeout: 10_000 });
  const readable = wakeUp();
  wakeUps.wake(3, [readable]);
  await vi.waitFor(() => expect(received).toEqual([[readable]]), { timeout: 10_000 });
});

test('finished jobs leave nothing behind but what BullMQ keeps per queue', async () => {
  const link = await openTestLink(url);
  const { wakeUps } = startWakeUps(link);
  const { consume, received } = startConsumers(link);
  const consumer = consume(3);
  wakeUps.wake(3, [wakeUp()]);
  await vi.waitFor(() => expect(received).toHaveLength(1), { timeout: 10_000 });
  await consumer.close();
  const keys = await link.client.keys(`{${link.keyPrefix}:3}*`);
  const kinds = keys.map((key) => key.slice(key.lastIndexOf(':') + 1)).sort();
  expect(['events', 'id', 'marker', 'meta', 'stalled-check']).toEqual(expect.arrayContaining(kinds));
});

test('a client that has given up for good is seen, and none that somebody closed', async () => {
  const connected = vi.spyOn(Redis.prototype, 'connect');
  onTestFinished(() => connected.mockRestore());
  const clientsNow = () => new Set(connected.mock.contexts as Redis[]);
  const link = await openTestLink(url);
  const { wakeUps } = startWakeUps(link);
  // its connections are all there once something came through
  const open = async (partition: number) => {
    const before = clientsNow();
    const started = startConsumers(link);
    started.consume(partition);
    await vi.waitFor(() => {
      wakeUps.wake(partition, [wakeUp()]);
      expect(started.received.length).toBeGreaterThan(0);
    }, 10_000);
    return { ...started, clients: [...clientsNow()].filter((client) => !before.has(client)) };
  };
  const closed = startConsumers(link);
  await closed.consume(1).close();
  const [first, second] = [await open(2), await open(3)];
  expect([closed, first, second].map(({ consumers }) => consumers.isOver)).toEqual([false, false, false]);

  for (const client of first.clients) client.disconnect();
  await vi.waitFor(() => expect(first.consumers.isOver).toBe(true), 10_000);
  expect(second.consumers.isOver).toBe(false);

  expect(link.isOver).toBe(false);
  link.client.disconnect();
  await vi.waitFor(() => expect(link.isOver).toBe(true), 10_000);
  await link[Symbol.asyncDispose]();
  await second.consumers[Symbol.asyncDispose]();
  expect([link.isOver, second.consumers.isOver]).toEqual([false, false]);
});
