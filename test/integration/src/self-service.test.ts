/**
 * Tenants manage their agents, accounts and keys, over HTTP on real stores and workers. That a change is seen here says it
 * is live without a restart; that it takes at most 5 s is shown on a clock that no load slows, in `open-streams.test.ts`
 * and `fresh-cache.test.ts`.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { type Database, openDatabase } from '@turnkeeper/storage';
import { type ApiInit, type Cluster, startCluster, until } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

let cluster: Cluster;
let database: Database;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 1, coordinators: 1, mode: 'inline' });
  database = openDatabase({ url: cluster.postgresUrl, role: 'tk_admin', poolMax: 2, applicationName: 'test' });
});
afterAll(async () => {
  await database.close();
  await cluster[Symbol.asyncDispose]();
});

const newName = (kind: string) => `${kind}-${randomBytes(4).toString('hex')}`;
const send = (method: string, path: string, init: ApiInit = {}) => cluster.api(path, { method, ...init });
const operate = (method: string, path: string, init: ApiInit = {}) => cluster.admin(path, { method, ...init });
const ifMatch = (tag: unknown) => ({ 'if-match': String(tag) });

const second = () => {
  const [, node] = cluster.ingress;
  if (node === undefined) throw new Error('this test runs on two ingress nodes');
  return node;
};

/** An agent of its own, with what its creation answered. */
async function newAgent(over: object = {}) {
  const name = newName('bot');
  const made = await send('POST', '/v1/agents', { body: { name, runtime: 'echo', ...over } });
  return { name, made };
}

describe('agents', () => {
  test('change by merge patch, each change a version, and If-Match tells who was too late', async () => {
    const { name, made } = await newAgent({ system: 'be brief', echo: { delayMs: 3 } });
    expect(made.headers.get('etag')).toBe('"1"');
    const first = await send('PATCH', `/v1/agents/${name}`, { body: { echo: { wordMs: 2 } }, headers: ifMatch('"1"') });
    expect([first.status, first.headers.get('etag')]).toEqual([200, '"2"']);
    expect(first.json).toMatchObject({
      version: 2,
      echo: { delayMs: 3, fail: 0, wordMs: 2 },
      system: 'be brief',
      changes: [{ result: 'updated', fields: [{ pointer: '/echo/wordMs', before: 0, after: 2 }] }],
    });
    const late = await send('PATCH', `/v1/agents/${name}`, { body: { system: null }, headers: ifMatch('"1"') });
    expect([late.status, late.json.code]).toEqual([412, 'version_conflict']);
    const cleared = await send('PATCH', `/v1/agents/${name}`, { body: { system: null } });
    expect([cleared.json.version, cleared.json.system]).toEqual([3, undefined]);
    const same = await send('PATCH', `/v1/agents/${name}`, { body: {} });
    expect([same.json.version, same.json.changes[0].result]).toEqual([3, 'unchanged']);
  });

  test('do not lose changes made at once', async () => {
    const { name } = await newAgent();
    const patches = [{ system: 'a' }, { echo: { delayMs: 1 } }, { echo: { wordMs: 2 } }];
    const answers = await Promise.all(patches.map((body) => send('PATCH', `/v1/agents/${name}`, { body })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { json } = await send('GET', `/v1/agents/${name}`);
    expect(json).toMatchObject({ version: 4, system: 'a', echo: { delayMs: 1, wordMs: 2 } });
  });

  test('refuse patches that cannot hold, and change nothing', async () => {
    const { name } = await newAgent();
    const refusals = [
      [{ runtime: 'openai' }, 'missing_field'],
      [{ openai: { baseUrl: 'http://127.0.0.1:9/v1', model: 'm' } }, 'invalid_field'],
      [{ colour: 'red' }, 'unknown_field'],
      [{ name: 'other' }, 'unknown_field'],
    ] as const;
    for (const [body, code] of refusals) {
      const { status, json } = await send('PATCH', `/v1/agents/${name}`, { body });
      expect([status, json.code]).toEqual([400, code]);
    }
    expect((await send('PATCH', '/v1/agents/nobody', { body: {} })).json.code).toBe('agent_not_found');
    expect((await send('GET', `/v1/agents/${name}`)).json.version).toBe(1);
  });

  test('are deleted at the version that was seen, not while an account needs them, and may be made again', async () => {
    const { name, made } = await newAgent();
    const account = { name, agent: name, channel: 'webhook', options: { template: '{{text}}' } };
    expect((await send('POST', '/v1/accounts', { body: { ...account, secrets: { secret: 's' } } })).status).toBe(201);
    expect((await send('DELETE', `/v1/agents/${name}`)).json.code).toBe('cannot_change');
    expect((await send('DELETE', `/v1/accounts/${name}`)).status).toBe(204);
    expect((await send('DELETE', `/v1/agents/${name}`, { headers: ifMatch('"7"') })).json.code).toBe(
      'version_conflict',
    );
    expect((await send('DELETE', `/v1/agents/${name}`, { headers: ifMatch('"1"') })).status).toBe(204);
    for (const method of ['GET', 'DELETE']) {
      const gone = await send(method, `/v1/agents/${made.json.id}`);
      expect([gone.status, gone.json.code]).toEqual([404, 'agent_not_found']);
    }
    const again = await send('POST', '/v1/agents', { body: { name, runtime: 'echo' } });
    expect([again.status, again.json.id, again.json.version]).toEqual([201, made.json.id, 2]);
  });

  test('answer on every node within 5 s as they were changed; a turn keeps the version it began with', async () => {
    const { name, made } = await newAgent({ echo: { delayMs: 1500 } });
    const ask = (ingress = second()) =>
      cluster.api('/v1/messages', {
        method: 'POST',
        node: ingress,
        body: { agentId: name, sessionKey: name, text: 'hi' },
      });
    const running = (await ask(cluster.ingress[0])).json.runId;
    await until('it is so', async () => (await send('GET', `/v1/runs/${running}`)).json.status === 'running');
    await send('PATCH', `/v1/agents/${name}`, { body: { echo: { delayMs: 0 } } });
    await until('it is so', async () => (await send('GET', `/v1/runs/${running}`)).json.status === 'ok');
    const versions = async () =>
      (
        await database.query<{ v: number }>(
          {
            name: 'turn_versions',
            text: 'select t.agent_version as v from tk.turns t join tk.agents a on a.id = t.agent_id where a.name = $1 order by t.started_at',
          },
          [name],
        )
      ).map(({ v }) => v);
    expect(await versions()).toEqual([made.json.version]);
    await until('it is so', async () => {
      await ask();
      return (await versions()).includes(2);
    });
  });
});

describe('accounts', () => {
  test('change and are tagged like agents; their channel and their secrets stay', async () => {
    const { name: agent } = await newAgent();
    const name = newName('hook');
    const body = { name, agent, channel: 'webhook', options: { template: 'a {{text}}' }, secrets: { secret: 's1' } };
    expect((await send('POST', '/v1/accounts', { body })).headers.get('etag')).toBe('"1"');
    const patched = await send('PATCH', `/v1/accounts/${name}`, { body: { options: { template: 'b {{text}}' } } });
    expect(patched.json).toMatchObject({ version: 2, options: { template: 'b {{text}}' }, secretNames: ['secret'] });
    const refused = await send('PATCH', `/v1/accounts/${name}`, { body: { channel: 'other' } });
    expect(refused.json.code).toBe('unknown_field');
    const late = await send('PATCH', `/v1/accounts/${name}`, {
      body: { secrets: { secret: 's2' } },
      headers: ifMatch('"1"'),
    });
    expect(late.status).toBe(412);
    expect((await send('DELETE', `/v1/accounts/${name}`, { headers: ifMatch('"2"') })).status).toBe(204);
    expect((await send('GET', `/v1/accounts/${name}`)).json.code).toBe('account_not_found');
  });
});

describe('keys', () => {
  test('show their secret once, work at once, and end within 5 s on every node', async () => {
    const name = newName('key');
    const made = await send('POST', '/v1/keys', { body: { name, preset: 'developer' } });
    expect([made.status, made.headers.get('etag')]).toEqual([201, '"1"']);
    const key = made.json.secret;
    expect(key).toMatch(/^tk_[a-z0-9]{8,32}_[A-Za-z0-9]{32,}$/);
    expect((await cluster.api('/v1/agents', { key, node: second() })).status).toBe(200);
    const shown = await send('GET', `/v1/keys/${name}`);
    expect([shown.json.secret, shown.json.preset]).toEqual([undefined, 'developer']);
    await until('it is so', async () => (await send('GET', `/v1/keys/${made.json.id}`)).json.lastUsedAt !== undefined);
    expect((await send('DELETE', `/v1/keys/${name}`)).status).toBe(204);
    await until('it is so', async () => {
      const { json } = await cluster.api('/v1/agents', { key, node: second() });
      return json.code === 'key_revoked';
    });
    expect((await send('POST', '/v1/keys', { body: { name, preset: 'viewer' } })).json.code).toBe('cannot_change');
    expect((await send('PATCH', `/v1/keys/${name}`, { body: { preset: 'viewer' } })).json.code).toBe('cannot_change');
  });

  test('end the streams that they opened', async () => {
    const made = await send('POST', '/v1/keys', { body: { name: newName('key'), preset: 'sender' } });
    const key = made.json.secret;
    const { name } = await newAgent({ echo: { delayMs: 60_000 } });
    const sent = await cluster.api('/v1/messages', {
      method: 'POST',
      key,
      body: { agentId: name, sessionKey: name, text: 'hi' },
    });
    const url = `${cluster.ingress[0]?.url}/v1/runs/${sent.json.runId}/events`;
    const stream = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
    expect(stream.status).toBe(200);
    await send('DELETE', `/v1/keys/${made.json.id}`);
    await stream.text();
  });

  test('never hand on more than they have, change by patch, and need keys:write', async () => {
    const scoped = (body: object, key?: string) =>
      send('POST', '/v1/keys', { body: { name: newName('key'), ...body }, ...(key === undefined ? {} : { key }) });
    const minter = (await scoped({ scopes: ['keys:write', 'runs:read'] })).json.secret;
    expect((await scoped({ preset: 'owner' }, minter)).json.code).toBe('scope_missing');
    expect((await scoped({ scopes: ['runs:read'] }, minter)).status).toBe(201);
    const developer = (await scoped({ preset: 'developer' })).json.secret;
    expect((await scoped({ preset: 'viewer' }, developer)).json.code).toBe('scope_missing');
    const { json } = await scoped({ preset: 'sender', expiresAt: '2099-01-01T00:00:00.000Z' });
    const patched = await send('PATCH', `/v1/keys/${json.id}`, { body: { expiresAt: null, scopes: ['runs:read'] } });
    expect(patched.json).toMatchObject({ version: 2, scopes: ['runs:read'] });
    expect([patched.json.expiresAt, patched.json.preset]).toEqual([undefined, undefined]);
    const late = await send('PATCH', `/v1/keys/${json.id}`, { body: { preset: 'owner' }, headers: ifMatch('"1"') });
    expect(late.json.code).toBe('version_conflict');
  });
});

test('operators do the same at their own door', async () => {
  const name = newName('bot');
  const query = '?tenant=test';
  const made = await operate('POST', `/admin/v1/agents${query}`, { body: { name, runtime: 'echo' } });
  expect([made.status, made.headers.get('etag')]).toEqual([201, '"1"']);
  const path = `/admin/v1/agents/${name}${query}`;
  expect((await operate('PATCH', path, { body: { system: 's' } })).json.version).toBe(2);
  const late = await operate('PUT', path, { body: { runtime: 'echo' }, headers: ifMatch('"1"') });
  expect([late.status, late.json.code]).toEqual([412, 'version_conflict']);
  expect((await operate('DELETE', path)).status).toBe(204);
  const key = await operate('POST', `/admin/v1/keys${query}`, { body: { name, preset: 'owner' } });
  expect((await cluster.api('/v1/keys', { key: key.json.secret })).status).toBe(200);
  expect((await operate('DELETE', `/admin/v1/keys/${name}${query}`)).status).toBe(204);
});

describe('a tenant', () => {
  const hook = {
    channel: 'webhook',
    options: { verify: 'hmac-sha256-header', header: 'x-signature', idHeader: 'x-id', template: '{{text}}' },
    secrets: { secret: 'hook-secret' },
  };

  async function newTenant() {
    const name = newName('tenant');
    const agents = [{ name: 'main', runtime: 'echo' }];
    const accounts = [{ name: 'in', agent: 'main', ...hook }];
    const keys = [{ name: 'o', preset: 'owner' }];
    const limits = { turnSlots: 7 };
    const made = await operate('PUT', `/admin/v1/tenants/${name}`, { body: { agents, accounts, keys, limits } });
    expect(made.status).toBe(201);
    const key = made.json.changes.find((change: { kind: string }) => change.kind === 'key').secret;
    return { name, key, id: made.json.id };
  }

  test('that is suspended is refused, its hooks settle refused, its queue waits; afterwards it goes on', async () => {
    const { name, key } = await newTenant();
    const say = (sessionKey: string, agentId = 'main') =>
      send('POST', '/v1/messages', { key, body: { sessionKey, agentId, text: 'hi' } });
    const slow = { name: 'slow', runtime: 'echo', echo: { delayMs: 4000 } };
    expect((await send('POST', '/v1/agents', { key, body: slow })).status).toBe(201);
    const first = (await say('k', 'slow')).json.runId;
    await until(
      'the first runs',
      async () => (await send('GET', `/v1/runs/${first}`, { key })).json.status === 'running',
    );
    const second = (await say('k', 'slow')).json.runId;
    const patched = await operate('PATCH', `/admin/v1/tenants/${name}`, { body: { status: 'suspended' } });
    expect([patched.json.status, patched.json.limits.turnSlots]).toEqual(['suspended', 7]);
    await until('refused', async () => {
      const { status, json } = await send('GET', '/v1/runs', { key });
      return status === 403 && json.code === 'tenant_suspended';
    });
    const url = `${cluster.ingress[0]?.url}/hooks/${name}.in`;
    const body = JSON.stringify({ text: 'from outside' });
    const headers = {
      'content-type': 'application/json',
      'x-signature': createHmac('sha256', 'hook-secret').update(body).digest('hex'),
      'x-id': name,
    };
    const hooked = await fetch(url, { method: 'POST', body, headers });
    expect(hooked.status).toBe(202);
    const states = async () =>
      (
        await database.query<{ state: number; code: string | null }>(
          {
            name: 'states_of_tenant',
            text: "select e.state, e.error ->> 'code' as code from tk.events e join tk.tenants t on t.id = e.tenant_id where t.name = $1 order by e.ord",
          },
          [name],
        )
      ).map(({ state, code }) => (code === null ? state : code));
    await until('the running turn ends', async () => Number((await states())[0]) >= 10);
    expect((await states()).slice(1)).toEqual([0, 'tenant_suspended']);
    await operate('PATCH', `/admin/v1/tenants/${name}`, { body: { status: 'active' } });
    await until(
      'the second runs after all',
      async () => (await send('GET', `/v1/runs/${second}`, { key })).json.status === 'ok',
      30_000,
    );
  });

  test('ends its open streams when it is suspended', async () => {
    const { name, key } = await newTenant();
    const slow = { name: 'slow', runtime: 'echo', echo: { delayMs: 60_000 } };
    await send('POST', '/v1/agents', { key, body: slow });
    await send('POST', '/v1/messages', { key, body: { sessionKey: 'k', agentId: 'slow', text: 'hi' } });
    const stream = await fetch(`${second().url}/v1/sessions/k/events`, { headers: { authorization: `Bearer ${key}` } });
    expect(stream.status).toBe(200);
    await operate('PATCH', `/admin/v1/tenants/${name}`, { body: { status: 'suspended' } });
    expect(await stream.text()).toContain('"reason":"revoked"');
  });

  test('whose account is deleted takes nothing more through it, on any node', async () => {
    const { name, key } = await newTenant();
    const hooked = async (id: string) => {
      const body = JSON.stringify({ text: id });
      const signature = createHmac('sha256', 'hook-secret').update(body).digest('hex');
      const headers = { 'content-type': 'application/json', 'x-signature': signature, 'x-id': id };
      return (await fetch(`${second().url}/hooks/${name}.in`, { method: 'POST', body, headers })).status;
    };
    expect(await hooked('before')).toBe(202);
    expect((await send('DELETE', '/v1/accounts/in', { key })).status).toBe(204);
    let tried = 0;
    await until('the hook is unknown', async () => (await hooked(`after-${tried++}`)) === 404);
  });

  test('has versions: whoever changes or deletes it may say which one was seen', async () => {
    const { name } = await newTenant();
    const path = `/admin/v1/tenants/${name}`;
    expect((await operate('GET', path)).headers.get('etag')).toBe('"1"');
    const patch = (timeZone: string, tag: string) =>
      operate('PATCH', path, { body: { timeZone }, headers: ifMatch(tag) });
    const first = await patch('Europe/Berlin', '"1"');
    expect([first.status, first.headers.get('etag'), first.json.version]).toEqual([200, '"2"', 2]);
    expect((await patch('UTC', '"1"')).json.code).toBe('version_conflict');
    const late = await operate('PUT', path, { body: { timeZone: 'UTC' }, headers: ifMatch('"1"') });
    expect([late.status, late.json.code]).toEqual([412, 'version_conflict']);
    // its parts have versions of their own
    const agents = [{ name: 'main', runtime: 'echo', system: 's' }];
    expect((await operate('PUT', path, { body: { agents }, headers: ifMatch('"2"') })).status).toBe(200);
    const absent = `/admin/v1/tenants/${newName('absent')}`;
    expect((await operate('PUT', absent, { body: {}, headers: ifMatch('"1"') })).status).toBe(412);
    expect((await operate('GET', absent)).status).toBe(404);
    expect((await operate('DELETE', path, { headers: ifMatch('"1"') })).json.code).toBe('version_conflict');
    expect((await operate('GET', path)).json).toMatchObject({ status: 'active' });
  });

  test('loses no change of its limits to another made at once', async () => {
    const { name } = await newTenant();
    const limits = [{ turnSlots: 5 }, { queuedPerLane: 7 }, { ratePerSecond: 9 }];
    const path = `/admin/v1/tenants/${name}`;
    const made = await Promise.all(limits.map((one) => operate('PATCH', path, { body: { limits: one } })));
    expect(made.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await operate('GET', path)).json.limits).toMatchObject({
      turnSlots: 5,
      queuedPerLane: 7,
      ratePerSecond: 9,
    });
  });

  test('that is deleted is gone with all it had, and its receipt stays', async () => {
    const { name, key, id } = await newTenant();
    const sent = await send('POST', '/v1/messages', { key, body: { sessionKey: 'k', text: 'hi' } });
    await until(
      'answered',
      async () => (await send('GET', `/v1/runs/${sent.json.runId}`, { key })).json.status === 'ok',
    );
    const asked = await operate('DELETE', `/admin/v1/tenants/${name}`);
    expect([asked.status, asked.json.status, asked.json.tenantId]).toEqual([202, 'deleting', id]);
    await until('refused', async () => (await send('GET', '/v1/runs', { key })).status === 403);
    expect((await operate('PUT', `/admin/v1/tenants/${name}`, { body: {} })).json.code).toBe('cannot_change');
    const receipt = await until(
      'deleted',
      async () => {
        const { json } = await operate('GET', `/admin/v1/tenants/${id}/receipt`);
        return json.status === 'deleted' ? json : null;
      },
      60_000,
    );
    expect(receipt.rows).toMatchObject({ events: 1, lanes: 1, tenants: 1 });
    expect((await operate('GET', `/admin/v1/tenants/${name}`)).status).toBe(404);
    await until('the key is nobody’s', async () => (await send('GET', '/v1/runs', { key })).status === 401);
  });
});
