/** Messages through ingress, Postgres, Redis, NATS and two workers: what becomes of turns and of what they owe. */
import { randomBytes } from 'node:crypto';
import { type Cluster, type FakePlatform, startCluster, startFakePlatform, until } from '@turnkeeper/test-harness';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

let cluster: Cluster;
let platform: FakePlatform;
let key: string;
/** Of a conversation whose first turn takes three times as long as a process's lease. */
let longRuns: string[];
const LONG = 'longer-than-a-lease';
const LONG_TEXT = Array.from({ length: 19 }, (_, n) => n).join(' ');

beforeAll(async () => {
  platform = await startFakePlatform();
  cluster = await startCluster({ urls: inject('urls'), mode: 'inline', workers: 2 });
  key = await cluster.putTenant({
    name: 'acme',
    agents: [
      { name: 'main', runtime: 'echo' },
      { name: 'slow', runtime: 'echo', echo: { delayMs: 60_000 } },
      { name: 'flaky', runtime: 'echo', echo: { fail: 1 } },
      { name: 'broken', runtime: 'echo', echo: { fail: 100 } },
      { name: 'words', runtime: 'echo', echo: { wordMs: 500 } },
      { name: 'chatty', runtime: 'echo', loops: { botTurnsMax: 2, hopsMax: 3 } },
    ],
    accounts: [
      { name: 'hook', agent: 'main', channel: 'webhook', options: hook(`${platform.url}/in`), secrets },
      {
        ...{ name: 'held', agent: 'main', channel: 'webhook', secrets },
        options: { ...hook(`${platform.url}/in`), onUnknown: 'hold' },
      },
      ...['ping', 'pong'].map((name) => ({
        name,
        agent: 'chatty',
        channel: 'webhook',
        options: hook(undefined),
        secrets,
      })),
      { name: 'mute', agent: 'main', channel: 'webhook', options: hook(undefined), secrets },
    ],
  });
  // begun here, so that it costs no time of its own: see the last test
  longRuns = [await send({ sessionKey: LONG, text: LONG_TEXT, agentId: 'words' })];
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await platform?.close();
});

const secrets = { secret: `whsec_${randomBytes(24).toString('base64')}` };

function hook(replyUrl: string | undefined) {
  return { verify: 'standard-webhooks', template: '{{text}}', ...(replyUrl === undefined ? {} : { replyUrl }) };
}

const newKey = () => randomBytes(6).toString('hex');

async function send(body: object): Promise<string> {
  const answer = await cluster.api('/v1/messages', { method: 'POST', body, key });
  expect(answer.status).toBe(202);
  return answer.json.runId;
}

const runOf = async (runId: string, wait = 0) => (await cluster.api(`/v1/runs/${runId}?wait=${wait}`, { key })).json;

describe('a message', () => {
  test('is answered by its agent', async () => {
    const runId = await send({ sessionKey: newKey(), text: 'hello' });
    expect(await runOf(runId, 30)).toMatchObject({ status: 'ok', reply: { text: 'hello' }, attempts: 1 });
  });

  test('is answered in spite of a failure that passes, in one attempt', async () => {
    const runId = await send({ sessionKey: newKey(), text: 'hello', agentId: 'flaky' });
    expect(await runOf(runId, 30)).toMatchObject({ status: 'ok', attempts: 1 });
  });

  test('ends with an error when its agent goes on failing, and the next one is taken', async () => {
    const sessionKey = newKey();
    const [first, second] = [
      await send({ sessionKey, text: 'a', agentId: 'broken' }),
      await send({ sessionKey, text: 'b', agentId: 'broken' }),
    ];
    expect(await runOf(first, 30)).toMatchObject({ status: 'error', error: { code: 'agent_error' } });
    expect(await runOf(second, 30)).toMatchObject({ status: 'error', error: { code: 'agent_error' } });
  });

  test('is answered under a key of letters that stores and queues use for themselves, and no slot stays taken', async () => {
    const keys = ['*', ':', '{}', '{tk:0}', 'a:*', '%', "'", '\\', '\u{1f511}'];
    const runs = await Promise.all(keys.map((sessionKey) => send({ sessionKey, text: sessionKey })));
    for (const [n, runId] of runs.entries()) {
      expect(await runOf(runId, 30)).toMatchObject({ sessionKey: keys[n], status: 'ok', reply: { text: keys[n] } });
    }
    const taken = () => cluster.metric('session-worker', 'turnkeeper_turn_slots_used');
    await until('no slot is taken', async () => (await taken()) === 0, 30_000);
  });

  test('without anything to say ends without a reply', async () => {
    const runId = await send({ sessionKey: newKey(), text: ' ' });
    expect(await runOf(runId, 30)).toMatchObject({ status: 'no_reply' });
  });

  test('of a machine may be answered with silence, one of a person may not', async () => {
    const text = '[SILENT] nothing new';
    const wake = await send({ sessionKey: newKey(), kind: 'wake', text });
    expect(await runOf(wake, 30)).toMatchObject({ status: 'no_reply' });
    const asked = await send({ sessionKey: newKey(), text });
    expect(await runOf(asked, 30)).toMatchObject({ status: 'ok', reply: { text } });
  });

  test('of a person that is answered with nothing but a silence marker gets a notice instead', async () => {
    const sessionKey = newKey();
    const runId = await send({ sessionKey, text: 'NO_REPLY', accountId: 'hook' });
    expect(await runOf(runId, 30)).toMatchObject({ status: 'no_reply' });
    const sent = () => platform.sends.filter(({ body }) => body.sessionKey === sessionKey);
    await until('the notice', () => sent().length === 1, 30_000);
    expect(sent()[0]?.body.text).toContain('nothing to say');
    const { json } = await cluster.api(`/v1/sessions/${sessionKey}/history`, { key });
    expect(json.data.map(({ role }: { role: string }) => role)).toEqual(['user', 'notice']);
  });
});

describe('a conversation', () => {
  test('is answered in its order, each message once, over lanes of both workers', async () => {
    const keys = Array.from({ length: 20 }, newKey);
    const texts = Array.from({ length: 10 }, (_, n) => `message ${n}`);
    for (const text of texts)
      await Promise.all(keys.map((sessionKey) => send({ sessionKey, text, accountId: 'hook' })));
    const sends = (sessionKey: string) => platform.sends.filter(({ body }) => body.sessionKey === sessionKey);
    for (const sessionKey of keys) {
      await until('all its replies', () => sends(sessionKey).length >= texts.length, 30_000);
      expect(sends(sessionKey).map(({ body }) => body.text)).toEqual(texts);
      const times = sends(sessionKey).flatMap(({ body }) => [body.startedAt, body.finishedAt]);
      expect(times).toEqual([...times].sort());
    }
  });

  test('waits behind a reply that is refused, and goes on after its retry', async () => {
    const sessionKey = newKey();
    platform.script({ status: 503, retryAfter: 1 });
    for (const text of ['first', 'second']) await send({ sessionKey, text, accountId: 'hook' });
    const sent = () => platform.sends.filter(({ body, taken }) => body.sessionKey === sessionKey && taken);
    await until('both replies', () => sent().length === 2);
    expect(sent().map(({ body }) => [body.text, body.attempt, body.recovered])).toEqual([
      ['first', 2, false],
      ['second', 1, false],
    ]);
  });

  test('waits with all others of its account when the platform asks for it, and spends no try meanwhile', async () => {
    const [flooded, other] = [newKey(), newKey()];
    platform.script({ status: 429, retryAfter: 3 });
    await send({ sessionKey: flooded, text: 'first', accountId: 'hook' });
    const sent = (...keys: string[]) => platform.sends.filter(({ body }) => keys.includes(body.sessionKey));
    const refused = await until('it is refused', () => sent(flooded)[0]);
    for (const sessionKey of [flooded, other]) await send({ sessionKey, text: 'second', accountId: 'hook' });
    await until('all replies', () => sent(flooded, other).filter(({ taken }) => taken).length === 3, 30_000);
    const later = sent(flooded, other).slice(1);
    expect(sent(flooded).map(({ body }) => [body.text, body.attempt])).toEqual([
      ['first', 1],
      ['first', 2],
      ['second', 1],
    ]);
    expect(sent(other).map(({ body }) => [body.text, body.attempt])).toEqual([['second', 1]]);
    // (a worker that was not asked itself may learn of it up to a second late)
    expect(
      Math.min(...later.filter(({ body }) => body.sessionKey === flooded).map(({ atMs }) => atMs)),
    ).toBeGreaterThan(refused.atMs + 2_900);
  });

  test('waits for a person behind a reply whose fate is unknown, where its account holds such ones', async () => {
    const sessionKey = newKey();
    platform.script({ reset: 'after' });
    for (const text of ['first', 'second']) await send({ sessionKey, text, accountId: 'held' });
    const list = async (status: string) =>
      (await cluster.api(`/v1/deliveries?sessionKey=${sessionKey}&status=${status}`, { key })).json.data;
    const held = await until('it is held', async () => {
      const [delivery] = await list('unknown');
      return delivery?.heldUntil !== undefined && delivery;
    });
    const sent = () => platform.sends.filter(({ body }) => body.sessionKey === sessionKey);
    await until('the second one waits behind it', async () => (await list('pending')).length === 1);
    expect(sent()).toHaveLength(1);
    const retried = await cluster.api(`/v1/deliveries/${held.deliveryId}/retry`, { method: 'POST', key });
    expect(retried).toMatchObject({ status: 200, json: { deliveryId: held.deliveryId, recovered: true } });
    await until('both have arrived', async () => (await list('delivered')).length === 2);
    expect(sent().map(({ body }) => [body.text, body.attempt, body.recovered])).toEqual([
      ['first', 1, false],
      ['first', 2, true],
      ['second', 1, false],
    ]);
    const again = await cluster.api(`/v1/deliveries/${held.deliveryId}/resolve`, {
      ...{ key, body: { outcome: 'abandoned' } },
    });
    expect(again).toMatchObject({ status: 409, json: { code: 'cannot_change' } });
  });

  test('goes on behind a reply whose fate is unknown, which is sent once more and says so', async () => {
    const sessionKey = newKey();
    platform.script({ reset: 'after' });
    for (const text of ['first', 'second']) await send({ sessionKey, text, accountId: 'hook' });
    const sent = () => platform.sends.filter(({ body, taken }) => body.sessionKey === sessionKey && taken);
    await until('all three sends', () => sent().length === 3, 30_000);
    expect(sent().map(({ body }) => [body.text, body.attempt, body.recovered])).toEqual([
      ['first', 1, false],
      ['first', 2, true],
      ['second', 1, false],
    ]);
    expect(sent()[0]?.body.deliveryId).toBe(sent()[1]?.body.deliveryId);
  });

  test('owes nothing through an account that has no reply address', async () => {
    const runId = await send({ sessionKey: newKey(), text: 'hello', accountId: 'mute' });
    expect(await runOf(runId, 30)).toMatchObject({ status: 'ok', reply: { text: 'hello' } });
  });
});

test('messages that nobody can read end alone: those before and behind them are answered in order', async () => {
  const sessionKey = newKey();
  const session = `/v1/sessions/${sessionKey}`;
  expect(await runOf(await send({ sessionKey, text: 'zero', accountId: 'hook' }), 30)).toMatchObject({ status: 'ok' });
  expect((await cluster.api(`${session}/pause`, { method: 'POST', key })).status).toBe(200);
  const texts = Array.from({ length: 30 }, (_, n) => `message ${n}`);
  const runs: string[] = [];
  for (const text of texts) runs.push(await send({ sessionKey, text, accountId: 'hook' }));
  const [malformed, missing] = [runs[7] ?? '', runs[19] ?? ''];
  const owner = new pg.Client({ connectionString: cluster.postgresUrl });
  await owner.connect();
  try {
    const plant = (text: string, body: unknown) =>
      owner.query("update tk.events set body = $2 where body ->> 'text' = $1 and state = 0", [
        text,
        JSON.stringify(body),
      ]);
    for (const { rowCount } of [await plant('message 7', 'no object'), await plant('message 19', {})])
      expect(rowCount).toBe(1);
  } finally {
    await owner.end();
  }
  expect((await cluster.api(`${session}/unpause`, { method: 'POST', key })).status).toBe(200);
  const readable = texts.filter((text) => text !== 'message 7' && text !== 'message 19');
  const sent = () => platform.sends.filter(({ body }) => body.sessionKey === sessionKey).map(({ body }) => body.text);
  await until('all others are answered', () => sent().length >= readable.length + 1, 60_000);
  expect(sent()).toEqual(['zero', ...readable]);
  for (const runId of [malformed, missing])
    expect(await runOf(runId, 30)).toMatchObject({ status: 'error', error: { code: 'internal' } });
}, 120_000);

describe('a loop without a person', () => {
  const settled = async (body: object) => {
    const { status, error } = await runOf(await send({ agentId: 'chatty', ...body }), 30);
    return error?.code ?? status;
  };

  test('of a bot is stopped after its budget, and goes on when a person has spoken', async () => {
    const source = { platform: 'api', chatType: 'group', chatId: newKey() };
    const bot = { source: { ...source, isBot: true }, text: 'hello' };
    const outcomes = [];
    for (const body of [bot, bot, bot, bot, { source, text: 'stop it' }, bot]) outcomes.push(await settled(body));
    expect(outcomes).toEqual(['ok', 'ok', 'bot_loop', 'bot_loop', 'ok', 'ok']);
  });

  test('of two agents that answer each other ends by the hops that their messages carry', async () => {
    for (const [name, other] of [
      ['ping', 'pong'],
      ['pong', 'ping'],
    ]) {
      const options = hook(`${cluster.ingress[0]?.url}/hooks/acme.${other}`);
      const answer = await cluster.api(`/v1/accounts/${name}`, { method: 'PATCH', key, body: { options } });
      expect(answer.status).toBe(200);
    }
    await settled({ sessionKey: newKey(), text: 'hi', accountId: 'ping' });
    const ends = async () => {
      const { json } = await cluster.api('/v1/runs?agentId=chatty&limit=200', { key });
      const runs: { sessionKey: string; status: string; error?: { code: string } }[] = json.data;
      const hooked = runs.filter(({ sessionKey }) => sessionKey.includes('webhook'));
      return hooked.map(({ status, error }) => error?.code ?? status);
    };
    await until('the last hop', async () => (await ends()).includes('hop_budget'), 30_000);
    expect(await ends()).toEqual(['hop_budget', 'ok', 'ok', 'ok']);
  });
});

describe('a running turn', () => {
  test('is stopped from another node, and its lane goes on at once', async () => {
    const sessionKey = newKey();
    const runId = await send({ sessionKey, text: 'long', agentId: 'slow' });
    await until('it runs', async () => (await runOf(runId)).status === 'running');
    const next = await send({ sessionKey, text: 'next', agentId: 'slow' });
    const cancelled = await cluster.api(`/v1/runs/${runId}/cancel`, { method: 'POST', key });
    expect(cancelled.status).toBe(200);
    expect(await runOf(runId)).toMatchObject({ status: 'cancelled' });
    await until('the next one runs', async () => (await runOf(next)).status === 'running');
  });
});

test('a turn longer than three leases is no fault: the next ones wait for it, and run', async () => {
  const short = async (text: string) => longRuns.push(await send({ sessionKey: LONG, text, agentId: 'words' }));
  for (const text of ['second', 'third', 'fourth']) await short(text);
  const ended = await Promise.all(longRuns.map((runId) => runOf(runId, 30)));
  const texts = [LONG_TEXT, 'second', 'third', 'fourth'];
  expect(ended).toMatchObject(texts.map((text) => ({ status: 'ok', attempts: 1, reply: { text } })));
  const times = ended.flatMap(({ startedAt, finishedAt }) => [startedAt, finishedAt]);
  expect(times).toEqual([...times].sort());
  expect(Date.parse(ended[0].finishedAt) - Date.parse(ended[0].startedAt)).toBeGreaterThan(8_000);
});
