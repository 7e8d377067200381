import type { BootId, LiveEvent, TenantId, TurnId, WakeUp } from '@turnkeeper/core';
import { recordingCounter, VirtualClock } from '@turnkeeper/core/testing';
import { expect, inject, test, vi } from 'vitest';
import type { BusLink } from './bus-link.ts';
import { NatsControlSignals } from './control-signals.ts';
import { LaneWatchers } from './lane-watchers.ts';
import { NatsLiveStream } from './live-stream.ts';
import { PartitionHints } from './partition-hints.ts';
import { clock, ids, newLane, openTestLink } from './testing.ts';

const url = inject('urls').nats;

/** A sender and a receiver of one cluster that no other test has. */
async function openPair(): Promise<{ sender: BusLink; receiver: BusLink }> {
  const prefix = `t-${ids.next()}`;
  const [sender, receiver] = await Promise.all([openTestLink(url, prefix), openTestLink(url, prefix)]);
  return { sender, receiver };
}

/** Sends until it is heard: a subscription takes a moment to reach the server. */
async function sendUntil(send: () => void, heard: () => void): Promise<void> {
  await vi.waitFor(
    () => {
      send();
      heard();
    },
    { timeout: 10_000, interval: 20 },
  );
}

test('a hint reaches whoever listens to its partition, and nobody else', async () => {
  const { sender, receiver } = await openPair();
  const outcomes = recordingCounter('outcome');
  const [hints, listener] = [
    new PartitionHints({ link: sender, outcomes }),
    new PartitionHints({ link: receiver, outcomes }),
  ];
  const [own, foreign] = [vi.fn(), vi.fn()];
  listener.listen({ partition: 3, onWakeUps: own });
  listener.listen({ partition: 4, onWakeUps: foreign });
  const wakeUps: WakeUp[] = [{ lane: newLane(), ord: '12' }, { lane: newLane(), ord: null }]; // biome-ignore format: a pair

  await sendUntil(
    () => hints.wake(3, wakeUps),
    () => expect(own).toHaveBeenCalledWith(wakeUps),
  );

  expect(foreign).not.toHaveBeenCalled();
  expect(outcomes.seen['hint_malformed']).toBeUndefined();
});

test('nothing is heard after the listener was taken off', async () => {
  const { sender, receiver } = await openPair();
  const outcomes = recordingCounter('outcome');
  const hints = new PartitionHints({ link: sender, outcomes });
  const listener = new PartitionHints({ link: receiver, outcomes });
  const [first, second] = [vi.fn(), vi.fn()];
  const stop = listener.listen({ partition: 3, onWakeUps: first });
  const hint = () => hints.wake(3, [{ lane: newLane(), ord: '1' }]);
  await sendUntil(hint, () => expect(first).toHaveBeenCalled());

  stop();
  first.mockClear();
  listener.listen({ partition: 3, onWakeUps: second });
  await sendUntil(hint, () => expect(second).toHaveBeenCalled());

  expect(first).not.toHaveBeenCalled();
});

test('what nobody can read is dropped and counted, and the next message is heard', async () => {
  const { sender, receiver } = await openPair();
  const outcomes = recordingCounter('outcome');
  const heard = vi.fn();
  new PartitionHints({ link: receiver, outcomes }).listen({ partition: 3, onWakeUps: heard });
  const foreign = ['{', 'null', '{"v":2,"scan":true}'];

  await sendUntil(
    () => {
      for (const text of foreign) sender.publish(`${sender.prefix}.p.3.hint`, text);
    },
    () => expect(outcomes.seen['hint_malformed']).toBeGreaterThanOrEqual(3),
  );
  new PartitionHints({ link: sender, outcomes }).wake(3, [{ lane: newLane(), ord: '1' }]);

  await vi.waitFor(() => expect(heard).toHaveBeenCalledOnce());
});

test('a reader that fails does not take the connection from the others', async () => {
  const { sender, receiver } = await openPair();
  const outcomes = recordingCounter('outcome');
  const listener = new PartitionHints({ link: receiver, outcomes });
  const heard = vi.fn();
  listener.listen({
    partition: 3,
    onWakeUps: () => {
      throw new Error('reader at fault');
    },
  });
  listener.listen({ partition: 3, onWakeUps: heard });
  const hints = new PartitionHints({ link: sender, outcomes });
  await sendUntil(
    () => hints.wake(3, [{ lane: newLane(), ord: '1' }]),
    () => expect(heard.mock.calls.length).toBeGreaterThan(2),
  );
  expect(receiver.connected).toBe(true);
});

test('live events of a lane reach all its readers, in the order in which they were sent', async () => {
  const { sender, receiver } = await openPair();
  const dropped = recordingCounter('outcome');
  const [stream, readers] = [
    new NatsLiveStream({ link: sender, clock, dropped }),
    new NatsLiveStream({ link: receiver, clock, dropped }),
  ];
  const lane = newLane();
  const [a, b, other] = [vi.fn(), vi.fn(), vi.fn()];
  readers.subscribe(lane, a);
  readers.subscribe(lane, b);
  readers.subscribe(newLane(), other);
  const event = (offset: number): LiveEvent => ({
    type: 'message.delta',
    at: '2026-11-30T00:00:00.000Z',
    sessionKey: 'k',
    data: { offset },
  });
  await sendUntil(
    () => stream.publish(lane, event(0)),
    () => expect(b).toHaveBeenCalled(),
  );
  a.mockClear();

  for (let offset = 1; offset <= 500; offset++) stream.publish(lane, event(offset));

  const seen = () => a.mock.calls.map(([heard]) => heard.data.offset).filter((offset) => offset > 0);
  await vi.waitFor(() => expect(seen()).toHaveLength(500), { timeout: 10_000 });
  expect(seen()).toEqual(Array.from({ length: 500 }, (_, n) => n + 1));
  expect(other).not.toHaveBeenCalled();
  expect(dropped.seen).toEqual({});
});

test('a lane is watched from before its reader wakes it until the reader has long gone', async () => {
  const { sender: ingress, receiver: worker } = await openPair();
  const [dropped, outcomes] = [recordingCounter('outcome'), recordingCounter('outcome')];
  const [readers, hints] = [
    new NatsLiveStream({ link: ingress, clock, dropped }),
    new PartitionHints({ link: ingress, outcomes }),
  ];
  const time = new VirtualClock();
  const stream = new NatsLiveStream({
    ...{ link: worker, clock, dropped },
    watchers: new LaneWatchers({ link: worker, clock: time }),
  });
  const seen: boolean[] = [];
  const lane = newLane();
  new PartitionHints({ link: worker, outcomes }).listen({
    partition: 3,
    onWakeUps: () => seen.push(stream.isWatched(lane)),
  });
  await sendUntil(
    () => hints.wake(3, [{ lane: newLane(), ord: '1' }]),
    () => expect(seen.length).toBeGreaterThan(0),
  );
  expect(seen).not.toContain(true);
  const stop = readers.subscribe(lane, () => undefined);
  const before = seen.length;
  hints.wake(3, [{ lane, ord: '2' }]);
  await vi.waitFor(() => expect(seen.length).toBeGreaterThan(before));
  expect(seen.at(-1)).toBe(true);
  expect(stream.isWatched(newLane())).toBe(false);
  stop();
  await time.advance(11_000);
  expect(stream.isWatched(lane)).toBe(false);
});

test('a worker that comes later learns who listens', async () => {
  const { sender: ingress, receiver: worker } = await openPair();
  const dropped = recordingCounter('outcome');
  const lane = newLane();
  const time = new VirtualClock();
  new NatsLiveStream({ link: ingress, clock: time, dropped }).subscribe(lane, () => undefined);
  const watchers = new LaneWatchers({ link: worker, clock });
  await vi.waitFor(
    async () => {
      await time.advance(3_000);
      expect(watchers.isWatched(lane)).toBe(true);
    },
    { timeout: 10_000, interval: 50 },
  );
});

test('a stop names its turn and a goodbye its worker, across tenants', async () => {
  const { sender, receiver } = await openPair();
  const [send, hear] = [new NatsControlSignals(sender), new NatsControlSignals(receiver)];
  const [stopped, gone] = [vi.fn(), vi.fn()];
  hear.onStopTurn(stopped);
  hear.onGoodbye(gone);
  const [tenantId, turnId, bootId] = [ids.next() as TenantId, ids.next() as TurnId, ids.next() as BootId];

  await sendUntil(
    () => send.stopTurn(tenantId, turnId),
    () => expect(stopped).toHaveBeenCalledWith(turnId),
  );
  await sendUntil(
    () => send.sayGoodbye(bootId),
    () => expect(gone).toHaveBeenCalledWith(bootId),
  );
});

test('a message too long for the server is refused, not thrown, and the link stays', async () => {
  const { sender } = await openPair();
  expect(sender.publish(`${sender.prefix}.x`, 'x'.repeat(2 * 1024 * 1024))).toBe(false);
  expect(sender.publish(`${sender.prefix}.x`, 'x')).toBe(true);
  expect(sender.connected).toBe(true);
});
