/** NATS comes, goes and stands still: what its adapter then does. Processes of its own, stopped and killed. */
import { connectBus } from '@turnkeeper/bus';
import { recordingLogger } from '@turnkeeper/core/testing';
import { type LocalServices, startLocalServices } from '@turnkeeper/platform/local-services';
import { systemClock as clock, systemIds as ids } from '@turnkeeper/platform/process';
import { until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';

let services: LocalServices;

beforeAll(async () => {
  services = await startLocalServices({ need: ['nats'], prefer: 'program', env: {} });
});

afterAll(() => services.stop());

async function open() {
  const lines: string[] = [];
  const logger = recordingLogger((line) => lines.push(line));
  const link = await connectBus({
    url: services.urls.nats,
    prefix: `t-${ids.next()}`,
    name: 'test',
    clock,
    ids,
    logger,
  });
  onTestFinished(() => link[Symbol.asyncDispose]());
  const heard: string[] = [];
  link.subscribe(`${link.prefix}.x`, (text) => heard.push(text));
  const arrives = (text: string) =>
    until(`${text} is heard`, () => {
      link.publish(`${link.prefix}.x`, text);
      return heard.includes(text);
    });
  return { link, lines, arrives };
}

async function signal(name: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  for (const { pid } of services.processes) process.kill(pid, name);
}

test('without NATS a process starts; subjects are heard as soon as it is there', async () => {
  await services.stopService('nats', 'immediate');
  onTestFinished(() => services.startService('nats'));
  const { link, lines, arrives } = await open();
  expect(link.connected).toBe(false);
  expect(link.publish(`${link.prefix}.x`, 'lost')).toBe(false);

  await services.startService('nats');

  await arrives('found');
  expect(lines).toEqual(['nats does not answer; working without it', 'nats answers']);
});

test('NATS is killed and comes back: subjects are heard again, changes are told', async () => {
  const { link, lines, arrives } = await open();
  const changes: boolean[] = [];
  link.onChange((connected) => changes.push(connected));
  await arrives('before');

  await services.stopService('nats', 'immediate');
  onTestFinished(() => services.startService('nats'));
  await until('the link knows', () => !link.connected);
  expect(link.publish(`${link.prefix}.x`, 'lost')).toBe(false);
  await services.startService('nats');

  await arrives('after');
  expect(changes).toEqual([false, true]);
  expect(lines).toEqual(['nats answers', 'nats does not answer; working without it', 'nats answers']);
});

test('a NATS that stands still costs bounded memory, is noticed, and found again', async () => {
  const { link, arrives } = await open();
  await arrives('before');
  await signal('SIGSTOP');
  onTestFinished(() => signal('SIGCONT'));

  const text = 'x'.repeat(10_000);
  let sent = 0;
  await until('publishing is refused', () => {
    for (let n = 0; n < 100; n++) sent += link.publish(`${link.prefix}.y`, text) ? text.length : 0;
    return !link.publish(`${link.prefix}.y`, text);
  });
  expect(sent).toBeLessThan(5_000_000);
  await until('the link knows', () => !link.connected);

  await signal('SIGCONT');
  await arrives('after');
});

test('a process ends in time while NATS stands still', async () => {
  const { link, arrives } = await open();
  await arrives('before');
  await signal('SIGSTOP');
  onTestFinished(() => signal('SIGCONT'));
  await link[Symbol.asyncDispose]();
  expect(link.connected).toBe(false);
});
