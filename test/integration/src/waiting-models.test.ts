/** A model that asks a person by its tool, on a cluster whose workers are killed while it waits. */
import { randomUUID } from 'node:crypto';
import { checkInvariants, openDatabase } from '@turnkeeper/storage';
import { type Cluster, type FakeOpenAi, startCluster, startFakeOpenAi, until } from '@turnkeeper/test-harness';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let cluster: Cluster;
let model: FakeOpenAi;
let owner: pg.Client;
let redis: Redis;

beforeAll(async () => {
  model = await startFakeOpenAi();
  redis = new Redis(inject('urls').redis);
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 2, coordinators: 1 });
  owner = new pg.Client({ connectionString: cluster.postgresUrl });
  await owner.connect();
  await cluster.putTenant({
    ...{ name: 'test', key: cluster.apiKey },
    agents: [
      {
        ...{ name: 'main', runtime: 'openai' },
        openai: { baseUrl: `${model.url}/v1`, model: 'm', tools: ['ask_person'] },
      },
    ],
  });
}, 180_000);
afterAll(async () => {
  const sweep = openDatabase({ url: cluster.postgresUrl, role: 'tk_sweep', poolMax: 1, applicationName: 'test' });
  try {
    expect((await checkInvariants(sweep, new Date(0))).violations).toEqual([]);
  } finally {
    await sweep.close();
    await owner.end();
    redis.disconnect();
    await cluster[Symbol.asyncDispose]();
    await model.close();
  }
});

const ask = (prompt: string, more: object = {}) => `[[tool ask_person ${JSON.stringify({ prompt, ...more })}]]`;
const send = async (sessionKey: string, text: string): Promise<string> =>
  (await cluster.api('/v1/messages', { body: { sessionKey, text } })).json.runId;
const runOf = async (runId: string, wait = 0) => (await cluster.api(`/v1/runs/${runId}?wait=${wait}`)).json;
const waiting = async (runId: string): Promise<string> => {
  await until('it waits', async () => (await runOf(runId)).status === 'waiting', 60_000);
  return (await runOf(runId)).inputId;
};
const ended = async (runId: string) => {
  await until('it has ended', async () => (await runOf(runId, 20)).finishedAt !== undefined, 90_000);
  return runOf(runId);
};
const answer = (inputId: string, text: string, at = 1) =>
  cluster.api(`/v1/inputs/${inputId}/answer`, {
    body: { text },
    ...(cluster.ingress[at] && { node: cluster.ingress[at] }),
  });

/** Roles and texts of the last request to the model. */
const given = () =>
  model.requests.at(-1)?.messages.map(({ role, content }) => [role, typeof content === 'string' ? content : null]);

async function heldBy(sessionKey: string) {
  const { rows } = await owner.query(
    'select l.id, l.turn_id, l.resume_of, l.waits_for is not null as waits from tk.lanes l where l.key = $1',
    [sessionKey],
  );
  const prefix = cluster.env['TURNKEEPER_PREFIX'];
  const locks = (await redis.keys(`*${prefix}*`)).filter((key) => key.includes(rows[0].id));
  const { rows: open } = await owner.query(
    "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
  );
  return { ...rows[0], id: null, locks, open: open.length };
}

test('the run outlives every worker, and goes on with the answer as the result of the call', async () => {
  const sessionKey = randomUUID();
  const asked = await send(sessionKey, ask('May I delete it?', { kind: 'approval', options: ['yes', 'no'] }));
  const inputId = await waiting(asked);
  const nothing = { id: null, turn_id: null, resume_of: null, waits: true, locks: [], open: 0 };
  await until('nothing is held', async () => JSON.stringify(await heldBy(sessionKey)) === JSON.stringify(nothing));
  expect(await heldBy(sessionKey)).toEqual(nothing);
  await until(
    'no slot is used',
    async () => (await cluster.metric('session-worker', 'turnkeeper_turn_slots_used')) === 0,
  );
  await until(
    'the leader counts it',
    async () => (await cluster.metric('coordinator', 'turnkeeper_turns_waiting_input')) === 1,
  );
  for (const worker of cluster.workers) worker.signal('SIGKILL');
  await Promise.all(cluster.workers.map((worker) => worker.exited));
  await Promise.all(cluster.workers.map((worker) => worker.restart()));

  const life = (await cluster.api(`/v1/events/${asked}/timeline`)).json;
  expect(life.data.at(-1)).toMatchObject({ step: 'asked', inputId, question: 'May I delete it?' });
  const both = await Promise.all([answer(inputId, 'yes', 0), answer(inputId, 'no', 1)]);
  expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  const lost = both.find(({ status }) => status === 409);
  expect(lost?.json.code).toBe('input_closed');
  const won = both[0]?.status === 200 ? 'yes' : 'no';
  expect(await ended(asked)).toMatchObject({ status: 'ok', reply: { text: `result: ${won}` } });
  const text = ask('May I delete it?', { kind: 'approval', options: ['yes', 'no'] });
  expect(given()).toEqual([
    ['user', text],
    ['assistant', null],
    ['tool', won],
  ]);
  const next = await send(sessionKey, 'thanks');
  expect(await ended(next)).toMatchObject({ status: 'ok', reply: { text: 'echo: thanks' } });
  expect(given()?.map(([role]) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  const { data } = (await cluster.api(`/v1/sessions/${sessionKey}/history?includeTools=true`)).json;
  expect(data.map(({ role }: { role: string }) => role)).toEqual(
    ['user', 'tool_call', 'notice', 'tool_result', 'user', 'assistant', 'user', 'assistant'], // biome-ignore format: one thought
  );
}, 240_000);

test('the model is told that nobody answered, and may ask again', async () => {
  const sessionKey = randomUUID();
  const asked = await send(sessionKey, ask('Now?', { expiresIn: 1 }));
  expect(await ended(asked)).toMatchObject({ status: 'ok', reply: { text: 'result: expired' } });
});

test('a call that is none is answered to the model, which may do better; a stop leaves a history that is whole', async () => {
  const sessionKey = randomUUID();
  const wrong = await send(sessionKey, '[[tool ask_person {"promt":"?"}]]');
  expect((await ended(wrong)).reply.text).toMatch(/^result: /);
  const asked = await send(sessionKey, ask('Really?'));
  const inputId = await waiting(asked);
  await cluster.api(`/v1/sessions/${sessionKey}/stop`, { method: 'POST' });
  expect((await ended(asked)).status).toBe('discarded');
  expect((await answer(inputId, 'yes')).status).toBe(409);
  expect(await ended(await send(sessionKey, 'go on'))).toMatchObject({ reply: { text: 'echo: go on' } });
  const calls = given()?.filter(([role]) => role === 'tool');
  expect(calls).toEqual([['tool', 'cancelled']]);
});

test('a model that asks the same again and again, or calls what does not exist, is stopped with a code that says so', async () => {
  const sessionKey = randomUUID();
  const input = (attempt: number) => JSON.stringify({ prompt: `Attempt ${attempt}: which colour?` });
  model.script(...[1, 2, 3, 4, 5].map((attempt) => ({ tool: { name: 'ask_person', input: input(attempt) } })));
  const asked = await send(sessionKey, 'paint it');
  const questions: string[] = [];
  for (let round = 0; round < 4; round++) {
    let inputId = '';
    await until(
      'it asks once more',
      async () => {
        const run = await runOf(asked);
        inputId = run.status === 'waiting' ? run.inputId : '';
        return inputId !== '' && !questions.includes(inputId);
      },
      60_000,
    );
    questions.push(inputId);
    expect((await answer(inputId, 'I cannot say', 0)).status).toBe(200);
  }
  expect(await ended(asked)).toMatchObject({ status: 'error', error: { code: 'tool_loop' } });
  // numbers make no other call, so the fifth question reached nobody
  expect(questions).toHaveLength(4);
  // as often as a try tells a model that it did not call well
  model.script(...Array.from({ length: 4 }, () => ({ tool: { name: 'no_such_tool', input: '{}' } })));
  expect(await ended(await send(sessionKey, 'try'))).toMatchObject({ status: 'error', error: { code: 'tool_loop' } });
  expect(await ended(await send(sessionKey, 'and now'))).toMatchObject({ reply: { text: 'echo: and now' } });
  expect(await cluster.metric('session-worker', 'turnkeeper_loop_stops_total{kind="tools"}')).toBe(2);
}, 120_000);
