import type { BootId, MessageId, SessionId, SessionRecord, Source } from '@turnkeeper/core';
import { laneIdOf } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { PostgresLaneRetention } from '../lane-retention.ts';
import { allPages, openReadStage, type ReadStage } from '../testing/read-stage.ts';
import { freshId, type StageLane } from '../testing/stage.ts';
import { vectorsOf } from '../testing/vectors.ts';

let read: ReadStage;
let worker: BootId;
beforeAll(async () => {
  read = await openReadStage(inject('urls'));
  worker = await read.stage.worker();
});
afterAll(() => read.close());

async function found(lane: StageLane): Promise<SessionRecord> {
  const session = await read.sessions.find(lane.tenantId, { by: 'key', sessionKey: lane.sessionKey });
  if (typeof session === 'string') throw new Error(session);
  return session;
}

async function transcript(
  session: SessionRecord,
  over: { limit?: number; includeTools?: boolean; before?: number } = {},
) {
  const { tenantId } = session.lane;
  const pages: string[][] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await read.sessions.history(tenantId, session, { limit: 100, includeTools: false, cursor, ...over });
    pages.unshift(page.rows.map(({ role, body }) => `${role} ${(body as { text: string }).text}`));
    if (page.nextCursor === null) return pages.flat();
    cursor = page.nextCursor;
  }
}

describe('find', () => {
  it('answers a lane before its first turn, and its session from then on, by key and by id', async () => {
    const { stage, sessions } = read;
    const tenantId = await read.tenant('found');
    const lane = stage.lane(tenantId, 'agent:main:telegram:dm:5');
    await stage.send(lane, 'hello');
    expect(await found(lane)).toMatchObject({ sessionId: null, status: 'active', agentName: 'main', kind: 'other' });
    const turn = await stage.claim(worker, lane);
    const session = await found(lane);
    expect(session).toMatchObject({ sessionId: turn.sessionId, sessionKey: lane.sessionKey });
    expect(await sessions.find(tenantId, { by: 'id', sessionId: turn.sessionId })).toEqual(session);
  });

  it('answers an old generation by its id', async () => {
    const { stage, sessions } = read;
    const tenantId = await read.tenant('generations');
    const lane = stage.lane(tenantId, 'key');
    await read.exchange(worker, lane, 'first');
    const old = (await found(lane)).sessionId as SessionId;
    await stage.rows('update tk.lanes set suspended = true where tenant_id = $1', [tenantId]);
    await read.exchange(worker, lane, 'second');
    expect((await found(lane)).sessionId).not.toBe(old);
    const past = await sessions.find(tenantId, { by: 'id', sessionId: old });
    expect(past).toMatchObject({ sessionId: old, sessionKey: 'key' });
    expect(typeof past === 'string' ? [] : await transcript(past)).toEqual(['user first', 'assistant re: first']);
    expect(await transcript(await found(lane))).toEqual(['user second', 'assistant re: second']);
  });

  it('answers a session that its conversation has forgotten by its id, with all that was said', async () => {
    const { stage, sessions } = read;
    const tenantId = await read.tenant('forgotten');
    const lane = stage.lane(tenantId, 'key');
    await read.exchange(worker, lane, 'hello');
    const sessionId = (await found(lane)).sessionId as SessionId;
    const retention = new PostgresLaneRetention(stage.sweep);
    const [row] = await stage.rows<{ seen: string }>(
      'select last_activity_at::text as seen from tk.lanes where id = $1',
      [lane.laneId],
    );
    expect(await retention.forget([{ lane, seen: row?.seen ?? '' }])).toBe(1);
    expect((await found(lane)).sessionId).toBeNull();
    const past = await sessions.find(tenantId, { by: 'id', sessionId });
    expect(past).toMatchObject({ sessionId, sessionKey: 'key', status: 'archived' });
    expect(typeof past === 'string' ? [] : await transcript(past)).toEqual(['user hello', 'assistant re: hello']);
  });

  it('says so when a key exists under two agents, and tells them apart by agent', async () => {
    const { stage, sessions } = read;
    const tenantId = await read.tenant('twice');
    const lane = stage.lane(tenantId, 'shared');
    const agentId = freshId<StageLane['agentId']>();
    const other = { ...lane, agentId, laneId: laneIdOf(tenantId, agentId, 'shared') };
    await read.agentOf(other, 'second');
    for (const one of [lane, other]) await stage.send(one, 'hello');
    expect(await sessions.find(tenantId, { by: 'key', sessionKey: 'shared' })).toBe('ambiguous');
    const named = await sessions.find(tenantId, { by: 'key', sessionKey: 'shared', agentId });
    expect(named).toMatchObject({ agentName: 'second' });
  });
});

describe('list', () => {
  it('leads through all conversations, newest first, each once, whatever moves meanwhile', async () => {
    const { stage, sessions } = read;
    const tenantId = await read.tenant('listed');
    const keys = ['a', 'b', 'c', 'd', 'e'];
    for (const key of keys) await stage.send(stage.lane(tenantId, key), 'x');
    await stage.rows(
      "update tk.lanes set created_at = '2026-01-01T00:00:00.123456Z' where key in ('b', 'c', 'd') and tenant_id = $1",
      [tenantId],
    );
    for (const limit of [1, 2, 5]) {
      const rows = await allPages(async (cursor) => {
        await stage.rows('update tk.lanes set last_activity_at = now() where tenant_id = $1', [tenantId]);
        return sessions.list(tenantId, { limit, cursor });
      });
      expect(rows.map((row) => row.sessionKey).slice(0, 2)).toEqual(['e', 'a']);
      expect(rows.map((row) => row.sessionKey).sort()).toEqual(keys);
    }
  });

  it('can be narrowed by every filter', async () => {
    const { stage, sessions } = read;
    const tenantId = await read.tenant('filtered');
    const talk = async (key: string, source: Source) => {
      const lane = stage.lane(tenantId, key);
      await stage.send(lane, 'x', { body: { text: 'x', source } });
      return lane;
    };
    await talk('agent:main:main', { platform: 'slack', chatType: 'dm', userId: 'U1', userName: 'Ada' });
    await talk('agent:main:telegram:group:7', { platform: 'telegram', chatType: 'group', chatName: '50%_off' });
    await talk('agent:main:cron:nightly', { platform: 'internal', chatType: 'dm' });
    const old = await talk('agent:main:slack:dm:9', { platform: 'slack', chatType: 'dm', userIdAlt: 'U9' });
    await stage.rows("update tk.lanes set last_activity_at = now() - interval '2 hours' where id = $1", [old.laneId]);
    const keys = async (filter: object) => {
      const { rows } = await sessions.list(tenantId, { limit: 50, ...filter });
      return rows.map((row) => row.sessionKey.replace('agent:main:', '')).sort();
    };
    expect(await keys({ kinds: ['main'] })).toEqual(['main']);
    expect(await keys({ kinds: ['group', 'cron'] })).toEqual(['cron:nightly', 'telegram:group:7']);
    expect(await keys({ channel: 'slack' })).toEqual(['main', 'slack:dm:9']);
    expect(await keys({ channel: 'internal' })).toEqual(['cron:nightly']);
    expect(await keys({ user: 'U1' })).toEqual(['main']);
    expect(await keys({ user: 'U9' })).toEqual(['slack:dm:9']);
    expect(await keys({ activeMinutes: 60 })).not.toContain('slack:dm:9');
    expect(await keys({ text: 'ADA' })).toEqual(['main']);
    expect(await keys({ text: '%_o' })).toEqual(['telegram:group:7']);
    expect(await keys({ status: 'archived' })).toEqual([]);
    expect(await keys({ status: 'active', agentId: old.agentId })).toHaveLength(4);
    expect(await keys({ agentId: freshId() })).toEqual([]);
  });
});

describe('history', () => {
  it('tells who said what in the order of the turns, and pages through each entry once', async () => {
    const { stage } = read;
    const tenantId = await read.tenant('story');
    const lane = stage.lane(tenantId, 'key');
    const said: string[] = [];
    for (const text of ['1', '2', '3', '4', '5']) {
      await read.exchange(worker, lane, text);
      said.push(`user ${text}`, `assistant re: ${text}`);
    }
    const session = await found(lane);
    for (const limit of [1, 2, 3, 4, 100]) expect(await transcript(session, { limit })).toEqual(said);
  });

  it('holds what the running turn took, not what still waits or was cancelled', async () => {
    const { stage } = read;
    const tenantId = await read.tenant('middle');
    const lane = stage.lane(tenantId, 'key');
    await read.exchange(worker, lane, 'before');
    await stage.control.cancelRun(tenantId, await stage.send(lane, 'taken back'));
    await stage.send(lane, 'now');
    const turn = await stage.claim(worker, lane);
    await stage.send(lane, 'later');
    const session = await found(lane);
    expect(await transcript(session)).toEqual(['user before', 'assistant re: before', 'user now']);
    const [, , now] = (await read.sessions.history(tenantId, session, { limit: 10, includeTools: false })).rows;
    expect(now).toMatchObject({ seq: Number(turn.seq), turnId: turn.fence.turnId, author: 'human' });
  });

  it('shows tool steps only when asked, between the question and the answer', async () => {
    const { stage } = read;
    const tenantId = await read.tenant('tools');
    const lane = stage.lane(tenantId, 'key');
    await stage.send(lane, 'ask');
    const turn = await stage.claim(worker, lane);
    const step = { lane, fence: turn.fence, seq: turn.seq };
    await stage.lanes.append([
      { ...step, messageId: freshId<MessageId>(), n: 1, role: 'tool_call', body: { text: 'call' } },
    ]);
    await stage.lanes.append([
      { ...step, messageId: freshId<MessageId>(), n: 2, role: 'tool_result', body: { text: 'result' } },
    ]);
    await stage.commit(worker, turn);
    const session = await found(lane);
    const whole = ['user ask', 'tool_call call', 'tool_result result', 'assistant re: ask'];
    expect(await transcript(session)).toEqual(['user ask', 'assistant re: ask']);
    for (const limit of [1, 2, 3, 100]) expect(await transcript(session, { includeTools: true, limit })).toEqual(whole);
  });

  it('ends below a seq', async () => {
    const tenantId = await read.tenant('below');
    const lane = read.stage.lane(tenantId, 'key');
    for (const text of ['1', '2', '3']) await read.exchange(worker, lane, text);
    const session = await found(lane);
    const { rows } = await read.sessions.history(tenantId, session, { limit: 100, includeTools: false });
    const before = rows[2]?.seq ?? 0;
    expect(await transcript(session, { before, limit: 1 })).toEqual(['user 1', 'assistant re: 1']);
  });

  it('loses nothing when a message that came late has a low number', async () => {
    const { stage } = read;
    const tenantId = await read.tenant('late');
    const lane = stage.lane(tenantId, 'key');
    for (const text of ['1', '2', '3']) await read.exchange(worker, lane, text);
    // as if event 1 had been stored first and seen last: its turn came after those of 2 and 3
    await stage.rows(`update tk.events set seq = 1000 where tenant_id = $1 and body ->> 'text' = '1'`, [tenantId]);
    for (const limit of [1, 2, 3, 100]) {
      const entries = await transcript(await found(lane), { limit });
      expect(entries.filter((entry) => entry.startsWith('user')).sort()).toEqual(['user 1', 'user 2', 'user 3']);
      expect(entries).toHaveLength(6);
    }
  });
});

describe('another tenant', () => {
  it('is answered like one that never was, by every read of sessions', async () => {
    const { stage, sessions } = read;
    const [mine, theirs] = [await read.tenant('mine'), await read.tenant('theirs')];
    const lane = stage.lane(theirs, 'key');
    await read.exchange(worker, lane, 'secret');
    const session = await found(lane);
    const { sessionId } = session;
    expect(await sessions.find(mine, { by: 'id', sessionId: sessionId as SessionId })).toBe('missing');
    expect(await sessions.find(mine, { by: 'key', sessionKey: 'key' })).toBe('missing');
    expect(await sessions.find(mine, { by: 'key', sessionKey: 'key', agentId: lane.agentId })).toBe('missing');
    expect((await sessions.list(mine, { limit: 50 })).rows).toEqual([]);
    expect((await sessions.history(mine, session, { limit: 50, includeTools: true })).rows).toEqual([]);
  });
});

describe('the database does what the vectors say', () => {
  it.each(vectorsOf<{ channel: string; keys: string[] }, { keys: string[] }>('history.json', 'api.channelFilter'))(
    '%s',
    async (id, { input, expected }) => {
      const tenantId = await read.tenant(id);
      for (const key of input.keys) {
        const source: Source = { platform: key.split(':')[0] ?? '', chatType: 'dm', chatId: key };
        await read.stage.send(read.stage.lane(tenantId, key), 'x', { body: { text: 'x', source } });
      }
      const { rows } = await read.sessions.list(tenantId, { limit: 50, channel: input.channel });
      expect(rows.map(({ sessionKey }) => sessionKey)).toEqual(expected.keys);
    },
  );

  it.each(
    vectorsOf<{ key: string; exists: boolean }, { status: number; created: boolean }>('history.json', 'api.history'),
  )('%s', async (id, { input, expected }) => {
    const tenantId = await read.tenant(id);
    if (input.exists) await read.stage.send(read.stage.lane(tenantId, input.key), 'x');
    const session = await read.sessions.find(tenantId, { by: 'key', sessionKey: input.key });
    // the API answers what is missing with 404
    expect(typeof session === 'string' ? session : 200).toBe(expected.status === 404 ? 'missing' : expected.status);
    const lanes = await read.stage.rows('select 1 from tk.lanes where tenant_id = $1', [tenantId]);
    expect(lanes.length > (input.exists ? 1 : 0)).toBe(expected.created);
  });
});
