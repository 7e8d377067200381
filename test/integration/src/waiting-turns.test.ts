/** A turn that waits for a person: asked, answered, expired, over a restart of its worker. */
import { randomUUID } from 'node:crypto';
import { checkInvariants, openDatabase } from '@turnkeeper/storage';
import { type Cluster, startCluster, until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 1, coordinators: 1, mode: 'inline' });
});
afterAll(async () => {
  const sweep = openDatabase({ url: cluster.postgresUrl, role: 'tk_sweep', poolMax: 1, applicationName: 'test' });
  try {
    expect((await checkInvariants(sweep, new Date(0))).violations).toEqual([]);
  } finally {
    await sweep.close();
    await cluster[Symbol.asyncDispose]();
  }
});

const send = async (sessionKey: string, text: string): Promise<string> =>
  (await cluster.api('/v1/messages', { body: { sessionKey, text } })).json.runId;
const runOf = async (runId: string, wait = 0) => (await cluster.api(`/v1/runs/${runId}?wait=${wait}`)).json;
const waiting = async (runId: string): Promise<string> => {
  const run = await runOf(runId, 50);
  expect(run.status).toBe('waiting');
  return run.inputId;
};
const answer = (inputId: string, text: string) =>
  cluster.api(`/v1/inputs/${inputId}/answer`, {
    body: { text },
    ...(cluster.ingress[1] && { node: cluster.ingress[1] }),
  });

test('a run waits, outlives its worker, and goes on with the first answer; what came meanwhile follows', async () => {
  const sessionKey = randomUUID();
  const asked = await send(sessionKey, '[[ask What now?]]');
  const inputId = await waiting(asked);
  expect((await runOf(asked)).input).toEqual({
    kind: 'question',
    prompt: 'What now?',
    expiresAt: expect.stringMatching(/Z$/),
  });
  const blank = await answer(inputId, ' \n ');
  expect([blank.status, blank.json.code]).toEqual([400, 'invalid_field']);
  const behind = await send(sessionKey, 'behind');
  await cluster.workers[0]?.restart();
  expect((await runOf(behind, 1)).status).toBe('queued');
  expect((await answer(inputId, 'go on')).status).toBe(200);
  expect(await runOf(asked, 30)).toMatchObject({ status: 'ok', reply: { text: 'go on' } });
  expect(await runOf(behind, 30)).toMatchObject({ status: 'ok', reply: { text: 'behind' } });
  const { json } = await cluster.api(`/v1/sessions/${sessionKey}/history`);
  const said = json.data.map(({ role, author, text }: Record<string, string>) => `${role} ${author} ${text}`);
  const first = [
    'user human [[ask What now?]]',
    'notice system What now?',
    'user human go on',
    'assistant agent go on',
  ];
  expect(said).toEqual([...first, 'user human behind', 'assistant agent behind']);
  expect(json.data[2]).toMatchObject({ inputId });
  const late = await answer(inputId, 'too late');
  expect([late.status, late.json.code]).toEqual([409, 'input_closed']);
  const none = await answer(`inp_${'0'.repeat(26)}`, 'x');
  expect([none.status, none.json.code]).toEqual([404, 'not_found']);
});

test('a question that nobody answers expires, and its run ends with that', async () => {
  const runId = await send(randomUUID(), '[[ask 200ms What now?]]');
  // a wait ends at the question; once it is known, within a second
  await until('it has ended', async () => !['queued', 'running', 'waiting'].includes((await runOf(runId, 5)).status));
  expect(await runOf(runId)).toMatchObject({ status: 'error', error: { code: 'input_expired' } });
});

test('a stop withdraws the question', async () => {
  const sessionKey = randomUUID();
  const asked = await send(sessionKey, '[[ask What now?]]');
  const inputId = await waiting(asked);
  await cluster.api(`/v1/sessions/${sessionKey}/stop`, { method: 'POST' });
  expect((await runOf(asked, 5)).status).toBe('discarded');
  expect((await answer(inputId, 'x')).status).toBe(409);
});
