/** The webhook fixtures through a running ingress whose clock stands at the time of the fixture. */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compose } from '@turnkeeper/ingress/compose';
import { ingressTable } from '@turnkeeper/ingress/config';
import { loadConfig } from '@turnkeeper/platform/config';
import { createKit } from '@turnkeeper/platform/process';
import { type Database, openDatabase } from '@turnkeeper/storage';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

interface Fixture {
  readonly name: string;
  readonly context: {
    readonly routes: Readonly<Record<string, { readonly secret: string } & Readonly<Record<string, unknown>>>>;
    readonly now: number;
  };
  readonly deliveries: readonly {
    readonly path: string;
    readonly headers: Record<string, string>;
    readonly rawBody: string;
  }[];
  readonly expect: {
    readonly http: readonly { readonly status: number }[];
    readonly dedupeKeys: readonly string[];
    readonly events: readonly ({ readonly messageId: string; readonly text: string } & Record<string, unknown>)[];
  };
}

const FOLDER = join(import.meta.dirname, '../../conformance/fixtures/channels/webhook');
const fixtures = readdirSync(FOLDER).map((name): Fixture => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')));

let cluster: Cluster;
let database: Database;
let hooks: { readonly url: string; close(): Promise<void> };

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 1, workers: 0, coordinators: 0, mode: 'inline' });
  database = openDatabase({ url: cluster.postgresUrl, role: 'tk_admin', poolMax: 2, applicationName: 'test' });
  hooks = await ingressAt(fixtures[0]?.context.now ?? 0);
});

afterAll(async () => {
  await hooks.close();
  await database.close();
  await cluster[Symbol.asyncDispose]();
});

/** One more ingress of the cluster, to which it is always this second of the wall clock. */
async function ingressAt(seconds: number) {
  const options = { service: 'ingress', nodeName: 'hooks', logLevel: 'silent', drainTimeoutMs: 1000 } as const;
  const kit = createKit({ ...options, processMetrics: false, fail: (error) => expect.unreachable(String(error)) });
  const clock = { ...kit.clock, nowMs: () => seconds * 1000 };
  const service = await compose(loadConfig(ingressTable, cluster.env), { ...kit, clock });
  const { publicPort } = await service.start(AbortSignal.timeout(10_000));
  return { url: `http://127.0.0.1:${publicPort}`, close: () => Promise.resolve(service[Symbol.asyncDispose]()) };
}

async function makeTenant(routes: Fixture['context']['routes'], limits: object = {}) {
  const name = `hooks-${randomUUID().slice(0, 13)}`;
  const accounts = Object.entries(routes).map(([account, { secret, ...options }]) => ({
    name: account,
    agent: 'main',
    channel: 'webhook',
    options,
    secrets: { secret },
  }));
  const all = { turnSlots: 1, queuedPerLane: 100, queuedPerTenant: 1000, ...limits };
  const key = await cluster.putTenant({ name, limits: all, agents: [{ name: 'main', runtime: 'echo' }], accounts });
  return { name, key };
}

const post = async (
  path: string,
  init: { readonly headers: Record<string, string>; readonly body: string | Buffer },
) => {
  const response = await fetch(hooks.url + path, {
    method: 'POST',
    ...init,
    body: new Uint8Array(Buffer.from(init.body)),
  });
  const json = (await response.json()) as { readonly status: string; readonly code: string; readonly runId: string };
  return { status: response.status, json };
};

const EVENTS = {
  name: 'events',
  text: 'select e.body, a.name as account from tk.events e join tk.tenants t on t.id = e.tenant_id left join tk.accounts a on a.id = e.account_id where t.name = $1 order by e.ord',
};
const KEYS = {
  name: 'keys',
  text: 'select d.key from tk.dedupe_keys d join tk.tenants t on t.id = d.tenant_id where t.name = $1',
};

interface StoredEvent {
  readonly account: string;
  readonly body: {
    readonly text: string;
    readonly source: object;
    readonly platformMessageId?: string;
    readonly attachments?: unknown[];
  };
}

describe('a fixture', () => {
  test.each(fixtures.map((fixture) => [fixture.name, fixture] as const))('%s', async (_name, fixture) => {
    const { name } = await makeTenant(fixture.context.routes);
    const statuses: { status: number }[] = [];
    for (const { path, headers, rawBody } of fixture.deliveries) {
      const { status } = await post(path.replace('/hooks/', `/hooks/${name}.`), { headers, body: rawBody });
      statuses.push({ status });
    }
    expect(statuses).toEqual(fixture.expect.http);
    const stored = await database.query<StoredEvent>(EVENTS, [name]);
    const { expect: expected } = fixture;
    expect(stored.map(({ body }) => ({ ...body.source, text: body.text, messageId: body.platformMessageId }))).toEqual(
      expected.events.map(({ attachments: _a, isCommand: _c, mentionsBot: _m, ...event }) => event),
    );
    const keys = await database.query<{ key: string }>(KEYS, [name]);
    expect(keys.map(({ key }) => key)).toEqual(expected.dedupeKeys);
  });
});

describe('a hook', () => {
  const secret = randomBytes(16).toString('hex');
  const routes = {
    build: { verify: 'hmac-sha256-header', header: 'x-signature', idHeader: 'x-id', template: '{{text}}', secret },
  };
  const signed = (body: string, id: string) => ({
    body,
    headers: { 'x-signature': createHmac('sha256', secret).update(body).digest('hex'), 'x-id': id },
  });

  test('answers with the run, which its tenant can read', async () => {
    const { name, key } = await makeTenant(routes);
    const { status, json } = await post(`/hooks/${name}.build`, signed('{"text":"done"}', '1'));
    expect([status, json.status]).toEqual([202, 'accepted']);
    const again = await post(`/hooks/${name}.build`, signed('{"text":"done"}', '1'));
    expect([again.status, again.json.runId]).toEqual([200, json.runId]);
    expect((await cluster.api(`/v1/runs/${json.runId}`, { key })).json).toMatchObject({ status: 'queued' });
  });

  test('is known by the id of its account, too', async () => {
    const { key } = await makeTenant(routes);
    const account = (await cluster.api('/v1/accounts/build', { key })).json;
    expect((await post(`/hooks/${account.id}`, signed('{"text":"done"}', '1'))).status).toBe(202);
  });

  test.each([
    ['an unknown account', (name: string) => `/hooks/${name}.nobody`],
    ['an unknown tenant', () => '/hooks/nobody.build'],
    ['an unknown id', () => '/hooks/acc_00000000000000000000000000'],
    ['a name alone', () => '/hooks/build'],
  ])('of %s is 404', async (_name, path) => {
    const { name } = await makeTenant(routes);
    const { status, json } = await post(path(name), signed('{"text":"done"}', '1'));
    expect([status, json.code]).toEqual([404, 'not_found']);
  });

  test('above 1 MiB is 413', async () => {
    const { name } = await makeTenant(routes);
    const answer = await post(`/hooks/${name}.build`, signed(`{"text":"${'x'.repeat(1024 * 1024)}"}`, '1'));
    expect([answer.status, answer.json.code]).toEqual([413, 'body_too_large']);
  });

  test('is cleaned of what no store can hold', async () => {
    const { name } = await makeTenant(routes);
    expect((await post(`/hooks/${name}.build`, signed('{"text":"a\\u0000b\\ud800"}', '1'))).status).toBe(202);
    expect(await database.query<StoredEvent>(EVENTS, [name])).toMatchObject([{ body: { text: 'a\uFFFDb\uFFFD' } }]);
  });

  test.each([
    ['a full lane', { queuedPerLane: 1 }, 'lane_full'],
    ['a rate', { ratePerSecond: 1, burst: 1 }, 'rate_limited'],
  ])('is not refused for %s: its run ends refused', async (_name, limits, code) => {
    const { name, key } = await makeTenant(routes, limits);
    const answers = await Promise.all(
      ['1', '2', '3'].map((id) => post(`/hooks/${name}.build`, signed('{"text":"a"}', id))),
    );
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    const runs = await Promise.all(answers.map(({ json }) => cluster.api(`/v1/runs/${json.runId}`, { key })));
    expect(runs.map(({ json }) => json.status).sort()).toEqual(['queued', 'refused', 'refused']);
    expect(runs.flatMap(({ json }) => json.error ?? [])).toEqual([{ code }, { code }]);
  });
});
