/** The operators' door and what tenants may configure themselves, over HTTP on real stores. */
import { randomBytes, randomUUID } from 'node:crypto';
import { parseId } from '@turnkeeper/core';
import { type Database, openDatabase } from '@turnkeeper/storage';
import { type ApiInit, type Cluster, startCluster, until } from '@turnkeeper/test-harness';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { CONFIG_FAULTS, ECHO, HOOK } from './config-faults.fixture.ts';

let cluster: Cluster;
let database: Database;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 0, coordinators: 0, mode: 'inline' });
  database = openDatabase({ url: cluster.postgresUrl, role: 'tk_admin', poolMax: 2, applicationName: 'test' });
});
afterAll(async () => {
  await database.close();
  await cluster[Symbol.asyncDispose]();
});

async function asOwner(text: string, values: readonly unknown[]): Promise<unknown[]> {
  const owner = new pg.Client({ connectionString: cluster.postgresUrl });
  await owner.connect();
  try {
    return (await owner.query(text, [...values])).rows;
  } finally {
    await owner.end();
  }
}

const newToken = () => `tk_${randomBytes(8).toString('hex')}_${randomBytes(20).toString('hex')}`;
const newName = (kind: string) => `${kind}-${randomBytes(4).toString('hex')}`;
const put = (path: string, body: unknown, init: ApiInit = {}) => cluster.admin(path, { method: 'PUT', body, ...init });
const post = (path: string, body: unknown, init: ApiInit = {}) => cluster.api(path, { method: 'POST', body, ...init });

const whole = (name: string) => ({
  name,
  limits: { ratePerSecond: 50, burst: 200, turnSlots: 20 },
  timeZone: 'Europe/Berlin',
  keys: [{ name: 'ci', secret: newToken(), preset: 'developer' }],
  agents: [
    { name: 'main', runtime: 'echo', echo: { delayMs: 0, fail: 0 }, keyPolicy: 'standard', busy: { mode: 'queue' } },
    {
      name: 'gpt',
      runtime: 'openai',
      openai: { baseUrl: 'http://127.0.0.1:9/v1', model: 'm', apiKey: 'sk-top-secret' },
    },
  ],
  accounts: [{ name: 'deploys', agent: 'main', ...HOOK }],
});

const PATHS = ['tenants', 'agents', 'accounts', 'keys', 'workers', 'partitions', 'lanes', 'events', 'turns', 'audit'];

const COUNTS = {
  name: 'config_counts',
  text: `select (select count(*)::int from tk.tenants) as tenants, (select count(*)::int from tk.api_keys) as keys,
    (select count(*)::int from tk.agent_versions) as agents, (select count(*)::int from tk.account_versions) as accounts,
    (select count(*)::int from tk.audit) as audits`,
};
const rowCounts = async () => (await database.query(COUNTS, []))[0];

describe('PUT /admin/v1/tenants', () => {
  test('makes the object of the YAML, then finds nothing to do', async () => {
    const body = whole(newName('acme'));
    const first = await put(`/admin/v1/tenants/${body.name}`, body);
    expect(first.status).toBe(201);
    expect(first.json).toMatchObject({
      name: body.name,
      status: 'active',
      timeZone: 'Europe/Berlin',
      limits: { ratePerSecond: 50, burst: 200, turnSlots: 20, queuedPerLane: 100, queuedPerTenant: 10_000 },
    });
    const counts = await rowCounts();
    const again = await put(`/admin/v1/tenants/${body.name}`, body);
    expect(again.status).toBe(200);
    expect(again.json.changes.map(({ result }: { result: string }) => result)).toEqual(Array(5).fill('unchanged'));
    expect(await rowCounts()).toEqual(counts);
    const found = await cluster.admin(`/admin/v1/tenants/${first.json.id}`);
    expect(found.json).toEqual({ ...first.json, changes: undefined });
  });

  test('never answers with a secret, wherever one looks', async () => {
    const body = whole(newName('quiet'));
    const texts = [(await put(`/admin/v1/tenants/${body.name}`, body)).text];
    for (const kind of ['agents', 'accounts', 'keys']) {
      texts.push((await cluster.admin(`/admin/v1/${kind}?tenant=${body.name}`)).text);
    }
    for (const secret of ['sk-top-secret', 'hook-secret-1', body.keys[0]?.secret ?? '']) {
      expect(texts.join()).not.toContain(secret);
    }
    expect(texts[1]).toContain('"secretNames":["apiKey"]');
    expect(texts[2]).toContain('"secretNames":["secret"]');
  });

  test('says what changed, by its place', async () => {
    const body = whole(newName('changing'));
    await put(`/admin/v1/tenants/${body.name}`, body);
    const [main, gpt] = body.agents;
    const next = { ...body, timeZone: 'UTC', agents: [{ ...main, echo: { delayMs: 7 } }, gpt] };
    const { json } = await put(`/admin/v1/tenants/${body.name}`, next);
    const changed = json.changes.filter(({ result }: { result: string }) => result === 'updated');
    expect(changed).toEqual([
      {
        ...{ kind: 'tenant', name: body.name, result: 'updated', version: 2 },
        fields: [{ pointer: '/timeZone', before: 'Europe/Berlin', after: 'UTC' }],
      },
      {
        ...{ kind: 'agent', name: 'main', result: 'updated', version: 2 },
        fields: [{ pointer: '/echo/delayMs', before: 0, after: 7 }],
      },
    ]);
  });

  test.each(CONFIG_FAULTS)('refuses $what and leaves no trace', async ({ part, answer, at, detail = '' }) => {
    const counts = await rowCounts();
    const { status, json } = await put(`/admin/v1/tenants/${newName('faulty')}`, { agents: [ECHO], ...part });
    expect(`${status} ${json.code}`).toBe(answer);
    expect(json.errors.map((error: { pointer: string }) => error.pointer)).toContain(at);
    expect(json.detail).toContain(detail);
    expect(await rowCounts()).toEqual(counts);
  });

  test.each(['UPPER', 'a.b', '-a', 'x'.repeat(64), 'default', 'ten_01h455vb4pex5vsknk084sn02q'])(
    'refuses the name %s',
    async (name) => {
      const answer = await put(`/admin/v1/tenants/${name}`, {});
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_field']);
    },
  );
});

describe('agents, accounts and keys of a tenant', () => {
  test('are put and read by name below their tenant', async () => {
    const tenant = newName('parts');
    await put(`/admin/v1/tenants/${tenant}`, {});
    const agent = await put(`/admin/v1/agents/main?tenant=${tenant}`, { runtime: 'echo' });
    const account = await put(`/admin/v1/accounts/in?tenant=${tenant}`, HOOK);
    const key = await put(`/admin/v1/keys/ci?tenant=${tenant}`, { preset: 'sender' });
    expect([agent.status, account.status, key.status]).toEqual([201, 201, 201]);
    expect(account.json).toMatchObject({ agent: 'main', agentId: agent.json.id, options: { template: '{{text}}' } });
    expect(key.json.secret).toMatch(/^tk_/);
    expect((await cluster.api('/v1/runs', { key: key.json.secret })).status).toBe(200);
    expect((await cluster.admin(`/admin/v1/keys/ci?tenant=${tenant}`)).json.secret).toBeUndefined();
    for (const [kind, row] of Object.entries({ agents: agent, accounts: account })) {
      const byId = await cluster.admin(`/admin/v1/${kind}/${row.json.id}?tenant=${tenant}`);
      expect(byId.json).toEqual({ ...row.json, changes: undefined });
    }
    const kept = await put(`/admin/v1/accounts/in?tenant=${tenant}`, { ...HOOK, secrets: {} });
    expect([kept.status, kept.json.changes[0].result]).toEqual([200, 'unchanged']);
  });

  test('an account says how long its platform wants nothing, at both doors, until an operator ends that', async () => {
    const tenant = newName('paused');
    const token = newToken();
    await put(`/admin/v1/tenants/${tenant}`, { agents: [ECHO], keys: [{ name: 'o', secret: token, preset: 'owner' }] });
    const account = await put(`/admin/v1/accounts/in?tenant=${tenant}`, HOOK);
    expect(account.json.pausedUntil).toBeUndefined();
    const pause = `insert into tk.account_pauses select id, tenant_id, now() + interval '1 day' from tk.accounts where name = 'in'
      and tenant_id = (select id from tk.tenants where name = $1)`;
    await asOwner(pause, [tenant]);
    const read = async () => [
      (await cluster.admin(`/admin/v1/accounts/in?tenant=${tenant}`)).json.pausedUntil,
      (await cluster.api('/v1/accounts/in', { key: token })).json.pausedUntil,
    ];
    const instant = expect.stringMatching(/Z$/);
    expect(await read()).toEqual([instant, instant]);
    const lift = () => cluster.admin(`/admin/v1/accounts/in/unpause?tenant=${tenant}`, { method: 'POST' });
    expect(await lift()).toMatchObject({ status: 200, json: { name: 'in' } });
    expect(await read()).toEqual([undefined, undefined]);
    expect((await lift()).status).toBe(200);
    const told =
      "select action from tk.audit where subject = 'account:in' and action = 'account.unpaused' and tenant_id = (select id from tk.tenants where name = $1)";
    expect(await asOwner(told, [tenant])).toHaveLength(1);
  });

  test('need a tenant that is there', async () => {
    const missing = await cluster.admin('/admin/v1/agents');
    expect([missing.status, missing.json.code]).toEqual([400, 'missing_field']);
    for (const path of ['agents?tenant=nobody', 'keys/x?tenant=nobody', 'accounts/x?tenant=nobody', 'tenants/nobody']) {
      expect((await cluster.admin(`/admin/v1/${path}`)).json.code).toBe('not_found');
    }
  });

  test('reach the other node without its being told: a revocation, a suspension and its end', async () => {
    const name = newName('live');
    const token = newToken();
    const tenant = (over: object, key: object = {}) =>
      put(`/admin/v1/tenants/${name}`, { keys: [{ name: 'k', secret: token, preset: 'owner', ...key }], ...over });
    const [, other] = cluster.ingress;
    const asked = () => cluster.api('/v1/runs', { key: token, ...(other && { node: other }) });
    await tenant({});
    expect((await asked()).status).toBe(200);
    await tenant({}, { revoked: true });
    await until('the key is refused', async () => (await asked()).json.code === 'key_revoked');
    await tenant({ status: 'suspended' });
    await until('the tenant is refused', async () => (await asked()).json.code === 'tenant_suspended');
    await tenant({ status: 'active' });
    await until('the tenant is let in again', async () => (await asked()).status === 200);
  });
});

describe('the operators door', () => {
  test.each(PATHS)('/admin/v1/%s is shut for everybody else, and is not on the public side', async (path) => {
    for (const key of [cluster.apiKey, 'nothing', newToken(), cluster.operatorKey.replace(/.$/, 'x')]) {
      const answer = await cluster.admin(`/admin/v1/${path}`, { key });
      expect([answer.status, answer.json.code]).toEqual([401, 'unauthenticated']);
    }
    expect((await cluster.api(`/admin/v1/${path}`, { key: cluster.operatorKey })).json.code).toBe('not_found');
  });

  test('does not read a body before it knows who asks', async () => {
    const answer = await put('/admin/v1/tenants/x', '{"broken', { key: cluster.apiKey });
    expect(answer.json.code).toBe('unauthenticated');
  });

  test('opens no tenant route', async () => {
    const answer = await cluster.api('/v1/agents', { key: cluster.operatorKey });
    expect(answer.json.code).toBe('unauthenticated');
  });
});

describe('the lists of the cluster', () => {
  test('show the nodes, the partitions, and what waits', async () => {
    const sessionKey = newName('key');
    const sent = await post('/v1/messages', { sessionKey, text: 'hello' });
    const nodes = (await cluster.admin('/admin/v1/workers?kind=ingress&state=open')).json.data;
    expect(nodes.map(({ bootId }: { bootId: string }) => bootId).sort()).toEqual(
      cluster.ingress.map(({ bootId }) => bootId).sort(),
    );
    expect((await cluster.admin('/admin/v1/partitions')).json.data).toHaveLength(16);
    const lanes = (await cluster.admin('/admin/v1/lanes?tenant=test&state=queued&limit=200')).json.data;
    expect(lanes.find((lane: { sessionKey: string }) => lane.sessionKey === sessionKey)).toMatchObject({
      ...{
        tenant: 'test',
        agent: 'main',
        queued: 1,
        slot: sent.json.slot,
        partition: sent.json.partition,
        turnId: null,
      },
    });
    const events = (await cluster.admin('/admin/v1/events?tenant=test&status=queued')).json.data;
    expect(events[0]).toMatchObject({
      eventId: sent.json.eventId,
      runId: sent.json.runId,
      status: 'queued',
      sessionKey,
    });
    const [lane] = lanes;
    for (const [path, one] of [
      [`lanes/${lane.laneId}`, lane],
      [`events/${sent.json.eventId}`, events[0]],
      [`events/${sent.json.runId}`, events[0]],
    ])
      expect((await cluster.admin(`/admin/v1/${path}`)).json).toMatchObject(one);
    for (const path of ['lanes/x', `lanes/${randomUUID()}`, 'events/x', 'events/evt_x'])
      expect(await cluster.admin(`/admin/v1/${path}`)).toMatchObject({ status: 404, json: { code: 'not_found' } });
  });

  test.each(PATHS)('/admin/v1/%s refuses what it does not know', async (path) => {
    const tenant = ['agents', 'accounts', 'keys'].includes(path) ? '&tenant=test' : '';
    const codes: string[] = [];
    for (const query of ['limit=0', 'limit=201', 'limit=x', 'cursor=AAAA', 'cursor=!', 'colour=red']) {
      const { status, json } = await cluster.admin(`/admin/v1/${path}?${query}${tenant}`);
      codes.push(`${status} ${json.code}`);
    }
    expect(codes).toEqual([
      ...['400 invalid_limit', '400 invalid_limit', '400 invalid_limit', '400 invalid_cursor', '400 invalid_cursor'],
      '400 unsupported_param',
    ]);
  });
});

describe('/v1/agents and /v1/accounts', () => {
  test('make things once, say so when they are there, and refuse to change them', async () => {
    const name = newName('bot');
    const body = { name, runtime: 'echo', echo: { delayMs: 3 } };
    const made = await post('/v1/agents', body);
    expect([made.status, made.json.version, made.json.echo]).toEqual([201, 1, { delayMs: 3, fail: 0, wordMs: 0 }]);
    expect((await post('/v1/agents', body)).status).toBe(200);
    const other = await post('/v1/agents', { ...body, echo: { delayMs: 4 } });
    expect([other.status, other.json.code]).toEqual([409, 'cannot_change']);
    const account = await post('/v1/accounts', { name, agent: name, ...HOOK });
    expect([account.status, account.json.agentId]).toEqual([201, made.json.id]);
    expect((await post('/v1/accounts', { name, agent: name, ...HOOK })).status).toBe(200);
    for (const reference of [name, made.json.id]) {
      expect((await cluster.api(`/v1/agents/${reference}`)).json).toEqual({ ...made.json, changes: undefined });
    }
    expect((await cluster.api(`/v1/accounts/${account.json.id}`)).json.name).toBe(name);
    const sent = await post('/v1/messages', { agentId: name, accountId: name, sessionKey: name, text: 'hi' });
    expect(sent.status).toBe(202);
  });

  test('need their scope', async () => {
    const key = newToken();
    await put('/admin/v1/keys/weak?tenant=test', { secret: key, preset: 'sender' });
    for (const path of ['/v1/agents', '/v1/accounts', '/v1/agents/main', '/v1/accounts/x']) {
      expect((await cluster.api(path, { key })).json.code).toBe('scope_missing');
    }
    expect((await post('/v1/agents', { name: 'x', runtime: 'echo' }, { key })).json.code).toBe('scope_missing');
  });

  test('answer what another tenant has like what nobody has', async () => {
    const theirs = newName('theirs');
    const owner = newToken();
    await put(`/admin/v1/tenants/${theirs}`, {
      keys: [{ name: 'o', secret: owner, preset: 'owner' }],
      agents: [{ name: 'spy', runtime: 'echo' }],
      accounts: [{ name: 'tap', agent: 'spy', ...HOOK }],
    });
    const idOf = async (path: string) => (await cluster.api(path, { key: owner })).json.id;
    const strange = async (path: string) => {
      const { status, json } = await cluster.api(path);
      return { status, ...json, requestId: '' };
    };
    for (const [kind, name] of [
      ['agents', 'spy'],
      ['accounts', 'tap'],
    ]) {
      const missing = await strange(`/v1/${kind}/nothing`);
      expect(missing.status).toBe(404);
      for (const reference of [name, await idOf(`/v1/${kind}/${name}`)]) {
        expect(await strange(`/v1/${kind}/${reference}`)).toEqual(missing);
      }
    }
    const foreignAgent = await post('/v1/accounts', {
      name: newName('x'),
      agent: await idOf('/v1/agents/spy'),
      ...HOOK,
    });
    expect([foreignAgent.status, foreignAgent.json.errors]).toEqual([
      422,
      [{ pointer: '/agent', code: 'agent_not_found' }],
    ]);
  });
});

describe('POST /admin/v1/events/{id}/replay', () => {
  const saying = (text: string) => ({
    sessionKey: newName('lane'),
    text,
    metadata: { order: 7 },
    idempotencyKey: randomBytes(8).toString('hex'),
  });
  const park = (eventId: string) =>
    asOwner('update tk.events set state = 19, error = \'{"code":"poison"}\', settled_at = now() where id = $1', [
      parseId(eventId, 'evt'),
    ]);

  test('accepts a parked event once more, byte for byte, in its lane, and once only', async () => {
    const accepted = (await post('/v1/messages', saying('poison?'))).json;
    await park(accepted.eventId);
    const replay = () => cluster.admin(`/admin/v1/events/${accepted.eventId}/replay`, { method: 'POST' });
    const first = await replay();
    expect(first.status).toBe(202);
    expect(first.json).toMatchObject({ sessionKey: accepted.sessionKey, status: 'accepted', runStatus: 'queued' });
    expect(first.json.runId).not.toBe(accepted.runId);
    expect((await replay()).json).toMatchObject({ runId: first.json.runId, status: 'duplicate' });
    const rows = await asOwner('select body, kind, lane_id from tk.events where id = any ($1)', [
      [accepted.eventId, first.json.eventId].map((id) => parseId(id, 'evt')),
    ]);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toEqual(rows[1]);
    const subject = `event:${accepted.eventId}`;
    const audit = await asOwner('select actor, subject from tk.audit where subject = $1', [subject]);
    expect(audit).toEqual([{ actor: expect.stringMatching(/^operator:/), subject }]);
    const told = await cluster.admin('/admin/v1/audit?tenant=test&limit=1');
    expect(told.json).toMatchObject({ data: [{ tenant: 'test', action: 'event.replayed' }], hasMore: true });
    const next = await cluster.admin(`/admin/v1/audit?tenant=test&limit=200&cursor=${told.json.nextCursor}`);
    expect(next.json.data.every(({ id }: { id: string }) => id !== told.json.data[0].id)).toBe(true);
  });

  test('notes who asked again where the first was not noted, once, and tells what is gone', async () => {
    const { eventId } = (await post('/v1/messages', saying('poison!'))).json;
    await park(eventId);
    const replay = () => cluster.admin(`/admin/v1/events/${eventId}/replay`, { method: 'POST' });
    const { json } = await replay();
    const noted = () => asOwner('select detail from tk.audit where subject = $1', [`event:${eventId}`]);
    await asOwner('delete from tk.audit where subject = $1', [`event:${eventId}`]);
    expect([(await replay()).json.status, (await replay()).json.status]).toEqual(['duplicate', 'duplicate']);
    expect(await noted()).toEqual([{ detail: { eventId: json.eventId } }]);
    await asOwner('delete from tk.events where id = $1', [parseId(json.eventId, 'evt')]);
    const deleted = await replay();
    expect([deleted.status, deleted.json.code]).toEqual([410, 'gone']);
    await asOwner(`update tk.events set body = '{"text": ""}' where id = $1`, [parseId(eventId, 'evt')]);
    const erased = await replay();
    expect([erased.status, erased.json.code]).toEqual([410, 'gone']);
  });

  test('refuses what was not parked, and what is not there', async () => {
    const { eventId } = (await post('/v1/messages', saying('waits'))).json;
    const refused = await cluster.admin(`/admin/v1/events/${eventId}/replay`, { method: 'POST' });
    expect([refused.status, refused.json.code]).toEqual([409, 'cannot_change']);
    for (const id of ['evt_01m8p7w6b8f4tb1yaj2jv95qtf', 'nonsense']) {
      const { status, json } = await cluster.admin(`/admin/v1/events/${id}/replay`, { method: 'POST' });
      expect([status, json.code]).toEqual([404, 'not_found']);
    }
  });
});
