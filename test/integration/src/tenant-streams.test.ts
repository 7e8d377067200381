/** The stream of a tenant: every lane, over both nodes, cut and gone on with, with and without NATS. */
import { randomUUID } from 'node:crypto';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Judge, readSse, type SseEvent } from './sse-reader.ts';

/** An address where nothing listens. */
const NO_NATS = 'nats://127.0.0.1:9';

describe.each([
  ['with NATS', () => inject('urls')],
  ['without NATS', () => ({ ...inject('urls'), nats: NO_NATS })],
])('the stream of a tenant %s', (_name, urls) => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ urls: urls(), ingress: 2, workers: 1, coordinators: 1, mode: 'inline' });
    const agents = [{ name: 'main', runtime: 'echo', echo: { wordMs: 5 } }];
    await cluster.putTenant({ name: 'test', key: cluster.apiKey, agents });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const read = (after: string | undefined, isEnough: Judge, { node = 0, query = '' } = {}) =>
    readSse({ url: `${cluster.ingress[node]?.url}/v1/events${query}`, key: cluster.apiKey, after }, isEnough);
  const converse = async (sessionKey: string) => {
    const { json } = await cluster.api('/v1/messages', { body: { sessionKey, text: 'a b c' } });
    await cluster.api(`/v1/runs/${json.runId}?wait=50`);
  };
  const told = (events: readonly SseEvent[]) =>
    events.flatMap(({ sessionKey, seq, type }) => (seq === undefined ? [] : [`${sessionKey} ${seq} ${type}`]));
  const turnOf = (key: string) => [
    ...[`${key} 1 turn.started`, `${key} 1 message.created`, `${key} 1 session.started`],
    ...[`${key} 2 run.settled`, `${key} 2 message.created`, `${key} 2 turn.finished`],
  ];

  test('tells what happens in any conversation, each thing once and in its order', async () => {
    const keys = [randomUUID(), randomUUID(), randomUUID()];
    const isWhole: Judge = (events) => keys.every((key) => told(events).includes(`${key} 2 turn.finished`));
    const reading = read(undefined, isWhole, { query: '?deltas=false' });
    await reading.begun;
    await Promise.all(keys.map(converse));
    const events = told(await reading.events);
    for (const key of keys) expect(events.filter((line) => line.startsWith(key))).toEqual(turnOf(key));
  });

  test('goes on behind any id on the other node: nothing is missed', async () => {
    const first = read(undefined, (events) => told(events).length >= 6);
    await first.begun;
    const keys = [randomUUID(), randomUUID(), randomUUID()];
    await converse(keys[0] ?? '');
    const before = await first.events;
    for (const key of keys.slice(1)) await converse(key);
    const id = before.findLast(({ seq }) => seq !== undefined)?.id;
    const isWhole: Judge = (events) => keys.slice(1).every((key) => told(events).includes(`${key} 2 turn.finished`));
    const after = await read(id, isWhole, { node: 1 }).events;
    const whole = new Set([...told(before), ...told(after)]);
    for (const key of keys) for (const line of turnOf(key)) expect(whole).toContain(line);
    for (const key of keys) expect(told(after).filter((line) => line.startsWith(key)).length).toBeLessThanOrEqual(6);
  });

  test('cut off before anything durable has come, it goes on behind where it said to stand', async () => {
    const opened = await read(undefined, (events) => events.at(-1)?.type === 'stream.replayed').events;
    const [open, replayed] = opened.map(({ data }) => String(data['cursor']));
    const key = randomUUID();
    await converse(key);
    for (const cursor of [open, replayed]) {
      const isWhole: Judge = (events) => told(events).includes(`${key} 2 turn.finished`);
      const after = await read(cursor, isWhole, { node: 1 }).events;
      expect(told(after).filter((line) => line.startsWith(key))).toEqual(turnOf(key));
    }
  });

  test('says so when an id is too old, and refuses what is none', async () => {
    const events = await read('t1', (all) => all.at(-1)?.type === 'stream.replayed').events;
    expect(events[1]).toMatchObject({ type: 'stream.reset', data: { reason: 'cursor_too_old' } });
    expect((await cluster.api('/v1/events?after=7')).json.code).toBe('unsupported_param');
  });
});
