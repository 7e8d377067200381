/** What a live cluster says of itself: its metrics are those of the page, its log lines hold the fields of the page, and nothing of what people said. */
import { readFile } from 'node:fs/promises';
import {
  type Cluster,
  type FakeOpenAi,
  startCluster,
  startFakeOpenAi,
  startFakePlatform,
  startFakeServer,
  until,
} from '@turnkeeper/test-harness';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

/** Stands in every text, name, number, secret and token below. */
const CANARY = 'canary7f3a';
const PHONE = '+4915112345678';

let cluster: Cluster;
let model: FakeOpenAi;
let wire = '';
let metrics: Record<'ingress' | 'session-worker' | 'coordinator', string>;
const closing: (() => Promise<void>)[] = [];

beforeAll(async () => {
  model = await startFakeOpenAi();
  const platform = await startFakePlatform();
  const collector = await startFakeServer((request, response) => {
    wire += request.body;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  closing.push(model.close, platform.close, collector.close);
  cluster = await startCluster({
    urls: inject('urls'),
    ...{ ingress: 1, workers: 1, coordinators: 1 },
    env: { TURNKEEPER_TRACES_URL: `${collector.url}/v1/traces`, TURNKEEPER_LOG_LEVEL: 'debug' },
  });
  const options = { verify: 'standard-webhooks', template: '{{text}}', replyUrl: `${platform.url}/in` };
  const secrets = { secret: `${CANARY}-secret-0123456789` };
  await cluster.putTenant({
    ...{ name: 'test', key: cluster.apiKey },
    agents: [
      { name: 'main', runtime: 'echo' },
      {
        ...{ name: 'gpt', runtime: 'openai', system: `You are ${CANARY}` },
        openai: { baseUrl: `${model.url}/v1`, model: 'm', apiKey: `sk-${CANARY}`, tools: ['ask_person'] },
      },
    ],
    accounts: [
      { name: 'hook', agent: 'main', channel: 'webhook', options, secrets },
      {
        name: 'deaf',
        agent: 'main',
        channel: 'webhook',
        options: { ...options, replyUrl: 'http://127.0.0.1:9/in' },
        secrets,
      },
    ],
  });
  await traffic();
  const scrape = async (at: string | undefined) => (await fetch(`${at}/metrics`)).text();
  metrics = {
    ingress: await scrape(cluster.ingress[0]?.internalUrl),
    'session-worker': await scrape(cluster.workers[0]?.internalUrl),
    coordinator: await scrape(cluster.coordinators[0]?.internalUrl),
  };
}, 240_000);
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  for (const close of closing) await close();
});

const source = {
  ...{ platform: 'whatsapp', chatType: 'dm', chatId: PHONE, userId: PHONE },
  ...{ userName: `Jo ${CANARY}`, chatName: `Room ${CANARY}` },
};

/** Every door, well and badly used, with the canary in whatever a person or a program may write. */
async function traffic(): Promise<void> {
  const send = (body: object) => cluster.api('/v1/messages', { body });
  const runs: string[] = [];
  const accepted = async (body: object) => runs.push((await send(body)).json.runId);
  await accepted({ source, text: `hello ${CANARY}`, metadata: { note: CANARY } });
  await accepted({ sessionKey: 'a', text: CANARY, accountId: 'hook' });
  await accepted({ sessionKey: 'b', text: CANARY, accountId: 'deaf' });
  await accepted({ sessionKey: 'c', text: `[[status 401]] ${CANARY}`, agentId: 'gpt' });
  await accepted({ sessionKey: 'd', text: `[[say ${CANARY}]]`, agentId: 'gpt' });
  await accepted({ sessionKey: 'e', text: `[[cut 1]] ${CANARY} ${CANARY}`, agentId: 'gpt' });
  const ask = JSON.stringify({ prompt: `${CANARY}?`, options: [CANARY] });
  await accepted({ sessionKey: 'f', text: `[[tool ask_person ${ask}]]`, agentId: 'gpt' });
  const isOver = async (runId: string) => {
    const { json } = await cluster.api(`/v1/runs/${runId}`);
    return json.finishedAt !== undefined || json.status === 'waiting';
  };
  await until('every run is over or waits', async () => (await Promise.all(runs.map(isOver))).every(Boolean), 60_000);
  await send({ text: CANARY, [CANARY]: CANARY });
  await cluster.api('/v1/messages', { method: 'POST', body: `{"text": "${CANARY}` });
  await cluster.api('/v1/messages', { body: { sessionKey: 'a', text: CANARY }, key: `tk_${CANARY}_${'x'.repeat(40)}` });
  await cluster.api(`/v1/runs/${CANARY}`);
  await cluster.api(`/v1/sessions/${CANARY}/history?q=${CANARY}`);
  await cluster.api('/v1/sessions/a/outbound', { body: { text: CANARY, accountId: 'deaf', author: 'human' } });
  await cluster.api('/v1/sessions/a', { method: 'PATCH', body: { label: CANARY } });
  await cluster.api('/v1/sessions/a/reset', { method: 'POST', headers: { 'idempotency-key': CANARY } });
  await cluster.api('/v1/inputs/inp_1/answer', { body: { text: CANARY } });
  const headers = {
    'webhook-id': CANARY,
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': `v1,${CANARY}`,
  };
  await cluster.api('/hooks/test.hook', { body: { text: CANARY }, headers });
  await cluster.api(`/hooks/test.${CANARY}`, { method: 'POST', body: `${CANARY}{` });
  await cluster.api(`/v1/ws?ticket=${CANARY}`, { headers: { 'sec-websocket-protocol': CANARY } });
  await cluster.admin('/admin/v1/tenants/test', { method: 'PUT', body: { name: CANARY, keys: [{ secret: CANARY }] } });
  // a reader with a cursor, so that replays are counted
  const stream = await fetch(`${cluster.ingress[0]?.url}/v1/sessions/a/events`, {
    headers: { authorization: `Bearer ${cluster.apiKey}`, 'last-event-id': '1' },
  });
  await stream.body?.getReader().read();
  await until(
    'the leader has measured',
    async () => (await cluster.metric('coordinator', 'turnkeeper_turns_waiting_input')) === 1,
  );
  await until('spans were sent', () => wire.includes('deliver webhook'));
}

const namesIn = (text: string) => new Set([...text.matchAll(/^# TYPE (turnkeeper_\w+) /gm)].map(([, name]) => name));

test('every metric of the page is there, and no other', async () => {
  const page = await readFile('docs/metrics.md', 'utf8');
  const documented = new Set([...page.matchAll(/^\| `(turnkeeper_\w+)`/gm)].map(([, name]) => name));
  const live = new Set(Object.values(metrics).flatMap((text) => [...namesIn(text)]));
  expect([...live].filter((name) => !documented.has(name))).toEqual([]);
  expect([...documented].filter((name) => !live.has(name))).toEqual([]);
});

test('every series has the labels of the page, and no other', async () => {
  const page = await readFile('docs/metrics.md', 'utf8');
  const rows = [...page.matchAll(/^\| `(turnkeeper_\w+)` \| (\w+) \| ([^|]*) \|/gm)];
  const labels = new Map(
    rows.map(([, name, , list = '']) => [name, [...list.matchAll(/`(\w+)`/g)].map(([, one]) => one).sort()]),
  );
  const wrong = Object.values(metrics).flatMap((text) =>
    [...text.matchAll(/^(turnkeeper_\w+?)(?:_bucket|_sum|_count)?(?:\{([^}]*)\})? \S+$/gm)].flatMap(
      ([line, name, given = '']) => {
        const found = [...given.matchAll(/(\w+)="/g)]
          .map(([, one]) => one)
          .filter((one) => one !== 'le')
          .sort();
        const expected = labels.get(name);
        return expected === undefined || String(expected) === String(found) ? [] : [line];
      },
    ),
  );
  expect(wrong).toEqual([]);
});

test('a steady cluster repairs nothing, and breaks no promise', async () => {
  const of = async (name: string) => {
    const page = await (await fetch(`${cluster.coordinators[0]?.internalUrl}/metrics`)).text();
    const series = page.matchAll(new RegExp(`^turnkeeper_${name}\\{([^}]*)\\} (\\S+)$`, 'gm'));
    return new Map([...series].map(([, labels = '', value]) => [labels, Number(value)]));
  };
  const runs = async () => {
    const counts = await of('sweep_duration_seconds_count');
    return { open: counts.get('sweep="open-work"') ?? 0, lost: counts.get('sweep="lost-turns"') ?? 0 };
  };
  const before = await runs();
  let sent = 0;
  const lightLoad = async () => {
    const { json } = await cluster.api('/v1/messages', { body: { sessionKey: `steady-${sent++ % 5}`, text: 'hi' } });
    await cluster.api(`/v1/runs/${json.runId}?wait=10`);
    const { lost, open } = await runs();
    return open >= before.open + 2 && lost >= before.lost + 20;
  };
  await until('the leader has looked many times while messages came', lightLoad, 60_000);
  expect(await of('sweep_repairs_total')).toEqual(new Map());
  const violations = await of('invariant_violations');
  expect(violations.size).toBeGreaterThan(3);
  expect([...violations].filter(([, count]) => count > 0)).toEqual([]);
}, 90_000);

test('every metric of the contract is there', async () => {
  const live = new Set(Object.values(metrics).flatMap((text) => [...namesIn(text)]));
  const due = CONTRACT.map((name) => `turnkeeper_${name}`);
  expect(due.filter((name) => !live.has(name))).toEqual([]);
});

test('every log line is JSON with the fields of the page, and no other', async () => {
  const page = await readFile('docs/logs.md', 'utf8');
  const documented = new Set(
    [...page.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, list = '']) =>
      [...list.matchAll(/`(\w+)`/g)].map(([, one]) => one),
    ),
  );
  const lines = cluster.nodes.flatMap(({ log }) => log);
  expect(lines.length).toBeGreaterThan(10);
  const unknown = new Map<string, string>();
  for (const line of lines)
    for (const field of Object.keys(JSON.parse(line))) if (!documented.has(field)) unknown.set(field, line);
  expect(Object.fromEntries(unknown)).toEqual({});
  for (const line of lines)
    expect(JSON.parse(line)).toMatchObject({ bootId: expect.any(String), service: expect.any(String) });
});

test('nothing of what people said, are called or keep secret is in logs, metrics or traces', () => {
  const logs = cluster.nodes.flatMap(({ log }) => log).join('\n');
  const seen = Object.entries({ logs, wire, ...metrics });
  for (const secret of [CANARY, PHONE, cluster.apiKey, cluster.operatorKey]) {
    for (const [where, text] of seen) expect(text.includes(secret), `${secret} in ${where}`).toBe(false);
  }
});

const CONTRACT =
  `build_info http_request_duration_seconds hook_requests_total accept_duration_seconds events_accepted_total
  events_duplicate_total events_settled_total accept_batch_size accept_queue_seconds rate_limited_total activations_total
  lane_ready_oldest_seconds lanes_ready events_queued turn_start_delay_seconds turn_slots turn_slots_used turn_duration_seconds
  turns_total turns_running turns_waiting_input turn_time_to_first_token_seconds claim_batch_size commit_batch_size
  commit_duration_seconds stale_fence_total takeovers_total takeover_delay_seconds resumes_total lanes_suspended events_parked
  loop_stops_total deliveries_total delivery_delay_seconds delivery_pending_oldest_seconds delivery_attempts_total
  deliveries_unknown platform_pause_seconds partitions_owned partition_owner_missing_seconds leader sweep_duration_seconds
  sweep_last_success_timestamp_seconds sweep_repairs_total invariant_violations store_up degraded_mode db_pool_connections
  db_statement_duration_seconds streams_open stream_replays_total stream_deltas_dropped_total agent_requests_total
  agent_tokens_total tool_calls_total tool_call_duration_seconds webhooks_out_total egress_blocked_total text_repairs_total
  auth_failures_total drain_duration_seconds tenant_events_queued tenant_turns_running tenant_oldest_ready_seconds
  tenant_quota_used_ratio`.split(/\s+/);
