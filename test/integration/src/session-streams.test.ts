/** The stream of a conversation: cut anywhere, resumed on the other node, with and without NATS. */
import { randomUUID } from 'node:crypto';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

interface StreamEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly seq?: number;
  readonly turnId?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const agents = [
  { name: 'main', runtime: 'echo', echo: { wordMs: 15 } },
  { name: 'slow', runtime: 'echo', echo: { wordMs: 400 } },
  { name: 'held', runtime: 'echo', echo: { delayMs: 60_000 } },
];

/** An address where nothing listens. */
const NO_NATS = 'nats://127.0.0.1:9';

describe.each([
  ['with NATS', () => inject('urls')],
  ['without NATS', () => ({ ...inject('urls'), nats: NO_NATS })],
])('the stream of a conversation %s', (name, urls) => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ urls: urls(), ingress: 2, workers: 1, coordinators: 1, mode: 'inline' });
    await cluster.putTenant({ name: 'test', key: cluster.apiKey, agents });
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const send = (sessionKey: string, text: string, more: object = {}) =>
    cluster.api('/v1/messages', { body: { sessionKey, text, ...more } });

  /** Reads until `isEnough`, then cuts the connection. */
  async function read(key: string, from: { after?: number | string; node?: number; query?: string }, isEnough: Judge) {
    const cut = AbortSignal.timeout(30_000);
    const stop = new AbortController();
    const path = `/v1/sessions/~${Buffer.from(key).toString('base64url')}/events${from.query ?? ''}`;
    const headers = {
      authorization: `Bearer ${cluster.apiKey}`,
      ...(from.after === undefined ? {} : { 'last-event-id': String(from.after) }),
    };
    const signal = AbortSignal.any([cut, stop.signal]);
    const answer = await fetch(cluster.ingress[from.node ?? 0]?.url + path, { headers, signal });
    expect(answer.status).toBe(200);
    const events: StreamEvent[] = [];
    let text = '';
    for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const id = /^id: (.*)$/m.exec(text.slice(0, end))?.[1];
        const json = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
        text = text.slice(end + 2);
        if (json === undefined) continue;
        events.push({ id, ...JSON.parse(json) });
        if (!isEnough(events)) continue;
        stop.abort();
        return events;
      }
    }
    return events;
  }
  type Judge = (events: readonly StreamEvent[]) => boolean;

  const durable = (events: readonly StreamEvent[]) => events.filter(({ seq }) => seq !== undefined);
  const finished = (count: number) => (events: readonly StreamEvent[]) =>
    events.filter(({ type }) => type === 'turn.finished').length === count;
  /** Of the agent: a turn that runs has not stored it yet. */
  const withoutVersion = ({ data: { agentVersion: _, ...data }, ...event }: StreamEvent) => ({ ...event, data });
  const isReplayed: Judge = (events) => events.at(-1)?.type === 'stream.replayed';

  async function threeTurns(): Promise<{ key: string; whole: StreamEvent[] }> {
    const key = randomUUID();
    for (const text of ['one two', 'three four', 'five six']) {
      const { json } = await send(key, text);
      await cluster.api(`/v1/runs/${json.runId}?wait=30`);
    }
    return { key, whole: durable(await read(key, { after: 0 }, isReplayed)) };
  }

  test('replays three turns whole, in stream order', async () => {
    const { whole } = await threeTurns();
    const [begun, ended] = [
      ['turn.started', 'message.created'],
      ['run.settled', 'message.created', 'turn.finished'],
    ];
    const turn = [...begun, ...ended];
    expect(whole.map(({ type }) => type)).toEqual([...begun, 'session.started', ...ended, ...turn, ...turn]);
    expect(whole.map(({ seq }) => seq)).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5, 5, 6, 6, 6]);
  });

  test('cut at every event and resumed on the other node brings each durable event once', async () => {
    const { key, whole } = await threeTurns();
    for (let cutAt = 1; cutAt <= whole.length; cutAt++) {
      const first = durable(await read(key, { after: 0 }, (events) => durable(events).length === cutAt));
      const second = durable(await read(key, { after: first.at(-1)?.id ?? '', node: 1 }, isReplayed));
      expect([...first, ...second]).toEqual(whole);
    }
  });

  test('that comes back with a wrong key is refused, and with the right one it goes on where it was cut', async () => {
    const { key, whole } = await threeTurns();
    const first = durable(await read(key, { after: 0 }, (events) => durable(events).length === 4));
    const after = first.at(-1)?.id ?? '';
    const path = `/v1/sessions/~${Buffer.from(key).toString('base64url')}/events`;
    const wrong = `${cluster.apiKey.slice(0, -4)}AAAA`;
    for (const node of cluster.ingress) {
      const headers = { authorization: `Bearer ${wrong}`, 'last-event-id': after };
      expect((await fetch(node.url + path, { headers })).status).toBe(401);
    }
    expect([...first, ...durable(await read(key, { after }, isReplayed))]).toEqual(whole);
  });

  test('live, cut in mid-delta and resumed, ends with the same events as a replay', async () => {
    const key = randomUUID();
    await cluster.api(`/v1/runs/${(await send(key, 'zero')).json.runId}?wait=30`);
    const first = read(
      key,
      { after: 0 },
      (events) => events.some(({ type }) => type === 'message.delta') || finished(2)(events),
    );
    await send(key, 'a b c d e f g h');
    const before = durable(await first);
    const seen = before.filter(({ type }) => type === 'turn.finished').length;
    const rest = read(key, { after: before.at(-1)?.id ?? '0', node: 1 }, finished(4 - seen));
    for (const text of ['i j', 'k l']) await cluster.api(`/v1/runs/${(await send(key, text)).json.runId}?wait=30`);
    const whole = durable(await read(key, { after: 0 }, isReplayed));
    expect([...before, ...durable(await rest)].map(withoutVersion)).toEqual(whole.map(withoutVersion));
  });

  test('tells what waits, and nothing of what was before when no cursor is given', async () => {
    const key = randomUUID();
    const running = await send(key, 'first', { agentId: 'held' });
    await read(key, { after: 0 }, (events) => events.some(({ type }) => type === 'turn.started'));
    const { json } = await send(key, 'later', { agentId: 'held' });
    const events = await read(key, { query: '' }, isReplayed);
    expect(durable(events)).toEqual([]);
    expect(events.at(-1)?.data['pending']).toEqual([{ eventId: json.eventId, runId: json.runId, position: 1 }]);
    for (const { runId } of [json, running.json]) await cluster.api(`/v1/runs/${runId}/cancel`, { method: 'POST' });
  });

  test('leaves out what a filter leaves out, and refuses filters that do not exist', async () => {
    const { key, whole } = await threeTurns();
    const only = await read(key, { after: 0, query: '?types=turn.finished' }, isReplayed);
    expect(durable(only)).toEqual(whole.filter(({ type }) => type === 'turn.finished'));
    const path = `/v1/sessions/~${Buffer.from(key).toString('base64url')}/events`;
    expect((await cluster.api(`${path}?types=nothing`)).json.code).toBe('unsupported_param');
    expect((await cluster.api('/v1/sessions/~eA/events')).json.code).toBe('session_not_found');
  });

  test('says so when a cursor is from elsewhere, and begins at the beginning', async () => {
    const { key, whole } = await threeTurns();
    const events = await read(key, { after: 999 }, isReplayed);
    expect(events[1]).toMatchObject({ type: 'stream.reset', data: { reason: 'cursor_unknown', headSeq: 6 } });
    expect(durable(events)).toEqual(whole);
  });

  test.runIf(name === 'with NATS')('one who joins in mid-turn gets the text so far, and then goes on', async () => {
    const key = randomUUID();
    const words = 'a b c d e f g h i j k l m n o p';
    const sent = await send(key, words, { agentId: 'slow' });
    const hasDelta: Judge = (events) => events.filter(({ type }) => type === 'message.delta').length === 2;
    await read(key, { after: 0 }, hasDelta);
    const events = await read(key, { after: 0, node: 1 }, finished(1));
    const snapshot = events.find(({ type }) => type === 'turn.snapshot');
    const parts = snapshot?.data['parts'] as { text: string }[] | undefined;
    let text = parts?.[0]?.text ?? '';
    expect(text.length).toBeGreaterThan(0);
    for (const { type, data } of events.slice(events.indexOf(snapshot as StreamEvent))) {
      if (type === 'message.delta') text = text.slice(0, data['offset'] as number) + data['text'];
    }
    expect(text).toBe(words);
    expect(sent.status).toBe(202);
  });

  test.runIf(name === 'with NATS')(
    'what a turn had said when it was stopped stays, for readers and in history',
    async () => {
      const key = randomUUID();
      const words = Array.from({ length: 300 }, (_, i) => `w${i}`).join(' ');
      await send(key, words, { agentId: 'slow' });
      const before = await read(key, { after: 0 }, (events) => events.some(({ type }) => type === 'message.delta'));
      await cluster.api(`/v1/sessions/${key}/stop?agentId=slow`, { method: 'POST' });
      const isCut = ({ type, data }: StreamEvent) => type === 'message.created' && data['cut'] === true;
      const events = await read(key, { after: durable(before).at(-1)?.id ?? '0', node: 1 }, (some) => some.some(isCut));
      const { data, turnId } = events.find(isCut) as StreamEvent;
      expect(words.startsWith(String(data['text']).trim())).toBe(true);
      expect(data).toMatchObject({ role: 'assistant', author: 'agent', text: expect.stringMatching(/^w0/) });
      const { json } = await cluster.api(`/v1/sessions/${key}/history?agentId=slow`);
      const { messageId, text } = data;
      expect(json.data.at(-1)).toMatchObject({ messageId, text, turnId, role: 'assistant', cut: true });
    },
  );
});
