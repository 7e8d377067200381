/** What a running cluster answers is what the schemas of the wire say, field by field. */
import {
  AccountListSchema,
  AgentListSchema,
  EventListSchema,
  HistorySchema,
  KeyListSchema,
  LaneListSchema,
  MessageAnswerSchema,
  PartitionListSchema,
  ProblemSchema,
  RunListSchema,
  RunSchema,
  SessionListSchema,
  StreamEventSchema,
  TenantListSchema,
  TimelineSchema,
  WorkerListSchema,
} from '@turnkeeper/protocol';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

let cluster: Cluster;
let runId: string;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 1, workers: 1, coordinators: 1, mode: 'inline' });
  await cluster.putTenant({
    name: 'test',
    key: cluster.apiKey,
    agents: [
      { name: 'main', runtime: 'echo', echo: { wordMs: 5 }, system: 'You are kind.', keyPolicy: { name: 'echo' } },
    ],
    accounts: [
      { name: 'hook', agent: 'main', channel: 'webhook', options: { template: '{{text}}' }, secrets: { secret: 's' } },
    ],
  });
  const source = { platform: 'telegram', chatType: 'dm', chatId: '7', userId: '8', userName: 'Ada' };
  runId = (await cluster.api('/v1/messages', { body: { source, text: 'one two three' } })).json.runId;
  await cluster.api(`/v1/runs/${runId}?wait=30`);
});

afterAll(() => cluster[Symbol.asyncDispose]());

describe('the schema fits', () => {
  test('an acceptance, and its repetition', async () => {
    const init = { body: { sessionKey: 'k', text: 'hi' }, headers: { 'idempotency-key': 'one' } };
    expect(MessageAnswerSchema.parse((await cluster.api('/v1/messages', init)).json).status).toBe('accepted');
    expect(MessageAnswerSchema.parse((await cluster.api('/v1/messages', init)).json).status).toBe('duplicate');
  });

  test('a run, and the list of runs', async () => {
    expect(RunSchema.parse((await cluster.api(`/v1/runs/${runId}`)).json)).toMatchObject({
      status: 'ok',
      sessionKey: 'telegram:7',
      reply: { text: 'one two three' },
    });
    expect(RunListSchema.parse((await cluster.api('/v1/runs')).json).data.length).toBeGreaterThan(0);
  });

  test('a timeline', async () => {
    const path = `/v1/events/${runId.replace('run_', 'evt_')}/timeline`;
    expect(TimelineSchema.parse((await cluster.api(path)).json).data.length).toBeGreaterThan(2);
  });

  test('every event of a stream', async () => {
    const answer = await cluster.api('/v1/messages?stream=true', { body: { sessionKey: 's', text: 'a b c' } });
    const events = [...answer.text.matchAll(/^data: (.*)$/gm)].map(([, json]) =>
      StreamEventSchema.parse(JSON.parse(json ?? '')),
    );
    expect(events.at(-1)).toMatchObject({ type: 'turn.finished', data: { status: 'ok' } });
  });

  test('problems', async () => {
    const problem = ProblemSchema.parse((await cluster.api('/v1/messages', { body: { text: 1, tezt: 2 } })).json);
    expect(problem.errors).toHaveLength(2);
  });

  test.each([
    ['/v1/agents', AgentListSchema],
    ['/v1/accounts', AccountListSchema],
    ['/v1/sessions?messageLimit=2', SessionListSchema],
    ['/v1/sessions/telegram%3A7/history', HistorySchema],
  ])('GET %s', async (path, schema) => {
    expect(schema.parse((await cluster.api(path)).json).data.length).toBeGreaterThan(0);
  });

  test.each([
    ['/admin/v1/tenants', TenantListSchema],
    ['/admin/v1/agents?tenant=test', AgentListSchema],
    ['/admin/v1/accounts?tenant=test', AccountListSchema],
    ['/admin/v1/keys?tenant=test', KeyListSchema],
    ['/admin/v1/workers', WorkerListSchema],
    ['/admin/v1/partitions', PartitionListSchema],
    ['/admin/v1/lanes', LaneListSchema],
    ['/admin/v1/events', EventListSchema],
  ])('GET %s', async (path, schema) => {
    expect(schema.parse((await cluster.admin(path)).json).data.length).toBeGreaterThan(0);
  });
});
