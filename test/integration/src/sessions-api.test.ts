/** Conversations and their history over HTTP on real stores; a worker's steps are taken by hand. */
import { randomBytes, randomUUID } from 'node:crypto';
import { type BootId, type LaneRef, type MessageId, parseId, type SessionId, type TurnId } from '@turnkeeper/core';
import { type Database, openDatabase, PostgresLaneStore, PostgresOwnershipStore } from '@turnkeeper/storage';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

let cluster: Cluster;
let database: Database;
let lanes: PostgresLaneStore;
const worker = randomUUID() as BootId;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 1, workers: 0, coordinators: 0, mode: 'inline' });
  database = openDatabase({ url: cluster.postgresUrl, role: 'tk_engine', poolMax: 2, applicationName: 'test' });
  lanes = new PostgresLaneStore(database);
  const row = { bootId: worker, kind: 'session-worker', name: 'by hand', pid: 1, version: '0', turnSlots: 1 } as const;
  await new PostgresOwnershipStore(database).register(row);
});
afterAll(async () => {
  await database.close();
  await cluster[Symbol.asyncDispose]();
});

const newKey = () => `key/${randomBytes(4).toString('hex')} é`;
const get = async (path: string) => (await cluster.api(path)).json;
const plain = (key: string) => encodeURIComponent(key);
const encoded = (key: string) => `~${Buffer.from(key).toString('base64url')}`;

async function send(body: object): Promise<string> {
  const { json } = await cluster.api('/v1/messages', { method: 'POST', body });
  return json.runId;
}

/** Answers what waits in the lane of this key. */
async function answer(sessionKey: string, reply: string): Promise<void> {
  const { json } = await cluster.admin('/admin/v1/lanes?tenant=test&limit=200');
  const row = json.data.find((lane: { sessionKey: string }) => lane.sessionKey === sessionKey);
  const tenantId = parseId<LaneRef['tenantId']>(row.tenantId, 'ten');
  if (tenantId === null) throw new Error('no tenant');
  const lane: LaneRef = { slot: row.slot, tenantId, laneId: row.laneId };
  const claim = { lane, turnId: randomUUID() as TurnId, newSessionId: randomUUID() as SessionId };
  const [turn] = await lanes.claim(worker, [claim]);
  if (turn?.result !== 'claimed') throw new Error(`not claimed: ${turn?.result}`);
  await lanes.commit(worker, [
    {
      ...{ lane, fence: turn.fence, status: 'ok', messageId: randomUUID() as MessageId, reply: { text: reply } },
      ...{ error: null, usage: null, agentVersion: 1, owed: { kind: 'proven' } },
    },
  ]);
}

describe('a session', () => {
  test('is found by its plain key, its encoded key and its id', async () => {
    const key = newKey();
    const source = { platform: 'api', chatType: 'dm', userName: 'Ada' };
    await send({ sessionKey: key, text: 'hello' });
    await answer(key, 'hi');
    const session = await get(`/v1/sessions/${plain(key)}`);
    expect(session).toEqual({
      ...{ sessionKey: key, sessionId: expect.stringMatching(/^ses_/), agentId: expect.stringMatching(/^agt_/) },
      ...{ kind: 'other', channel: source.platform, chatType: source.chatType, status: 'active', displayName: key },
      ...{ createdAt: expect.any(String), updatedAt: expect.any(String) },
    });
    for (const name of [encoded(key), session.sessionId, `${plain(key)}?agentId=main`]) {
      expect(await get(`/v1/sessions/${name}`)).toEqual(session);
    }
    expect((await get(`/v1/sessions?q=${plain(key)}`)).data).toEqual([session]);
    expect((await get(`/v1/sessions?q=${plain(key)}&messageLimit=1`)).data[0].messages).toMatchObject([{ text: 'hi' }]);
  });

  test('under two agents needs the agent named', async () => {
    const key = newKey();
    await cluster.api('/v1/agents', { method: 'POST', body: { name: 'second', runtime: 'echo' } });
    await send({ sessionKey: key, text: 'a' });
    await send({ sessionKey: key, agentId: 'second', text: 'b' });
    const unclear = await cluster.api(`/v1/sessions/${encoded(key)}`);
    expect([unclear.status, unclear.json.code]).toEqual([409, 'ambiguous']);
    const [one, two] = [
      await get(`/v1/sessions/${plain(key)}?agentId=main`),
      await get(`/v1/sessions/${plain(key)}?agentId=second`),
    ];
    expect(one.agentId).not.toBe(two.agentId);
  });

  test('that is missing, another tenant’s, or not even a name is refused alike by kind', async () => {
    const key = newKey();
    await send({ sessionKey: key, text: 'secret' });
    await answer(key, 'shh');
    const { sessionId } = await get(`/v1/sessions/${plain(key)}`);
    const stranger = await cluster.putTenant({
      name: `stranger-${randomBytes(4).toString('hex')}`,
      agents: [{ name: 'main', runtime: 'echo' }],
    });
    const asked = async (path: string, as: string) => {
      const { status, json } = await cluster.api(path, { key: as });
      return { status, ...json, requestId: '' };
    };
    for (const rest of ['', '/history']) {
      const missing = await asked(`/v1/sessions/${plain('nobody')}${rest}`, stranger);
      expect([missing.status, missing.code]).toEqual([404, 'session_not_found']);
      for (const name of [plain(key), encoded(key), sessionId]) {
        expect(await asked(`/v1/sessions/${name}${rest}`, stranger)).toEqual(missing);
      }
      for (const name of ['~', '~a', `~${'A'.repeat(800)}`, plain('x'.repeat(513)), '%00']) {
        expect(await asked(`/v1/sessions/${name}${rest}`, stranger)).toMatchObject({
          status: 400,
          code: 'malformed_key',
        });
      }
    }
    expect((await asked('/v1/sessions', stranger)).data).toEqual([]);
  });
});

describe('history', () => {
  test('tells both sides in order and pages backwards through each entry once', async () => {
    const key = newKey();
    const said: string[] = [];
    for (const text of ['1', '2', '3']) {
      await send({ sessionKey: key, text });
      await answer(key, `re ${text}`);
      said.push(`human ${text}`, `agent re ${text}`);
    }
    const path = `/v1/sessions/${encoded(key)}/history`;
    for (const limit of [1, 2, 4, 500]) {
      const seen: string[] = [];
      for (let cursor = ''; ; ) {
        const page = await get(`${path}?limit=${limit}${cursor && `&cursor=${cursor}`}`);
        seen.unshift(...page.data.map((entry: { author: string; text: string }) => `${entry.author} ${entry.text}`));
        expect(page.hasMore).toBe(page.nextCursor !== null);
        if (!page.hasMore) break;
        cursor = page.nextCursor;
      }
      expect(seen).toEqual(said);
    }
    const { data } = await get(path);
    expect(data[0]).toMatchObject({
      role: 'user',
      messageId: expect.stringMatching(/^msg_/),
      parts: [{ type: 'text', text: '1' }],
    });
    expect((await get(`${path}?before=${data[2].seq}`)).data).toEqual(data.slice(0, 2));
  });

  test.each(['limit=0', 'limit=501', 'before=x', 'cursor=AAAA', 'includeTools=maybe', 'colour=red', 'agentId=nobody'])(
    'refuses ?%s',
    async (query) => {
      const key = newKey();
      await send({ sessionKey: key, text: 'x' });
      const { status, json } = await cluster.api(`/v1/sessions/${encoded(key)}/history?${query}`);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(500);
      expect(json.code).toMatch(/^(invalid_limit|invalid_cursor|unsupported_param|agent_not_found)$/);
    },
  );

  test('needs the scope sessions:read', async () => {
    const key = `tk_${randomBytes(8).toString('hex')}_${randomBytes(20).toString('hex')}`;
    await cluster.admin('/admin/v1/keys/weak?tenant=test', { method: 'PUT', body: { secret: key, preset: 'sender' } });
    for (const path of ['/v1/sessions', '/v1/sessions/x', '/v1/sessions/x/history']) {
      expect((await cluster.api(path, { key })).json.code).toBe('scope_missing');
    }
  });
});
