import type { BootId, SearchFilter, SessionId, TenantId } from '@turnkeeper/core';
import { searchTerms } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it, test } from 'vitest';
import { allPages, openReadStage, type ReadStage } from '../testing/read-stage.ts';
import { freshId } from '../testing/stage.ts';
import { vectorsOf } from '../testing/vectors.ts';
import { SearchStore } from './search-store.ts';

let read: ReadStage;
let store: SearchStore;
let worker: BootId;
beforeAll(async () => {
  read = await openReadStage(inject('urls'));
  store = new SearchStore(read.api);
  worker = await read.stage.worker();
});
afterAll(() => read.close());

async function found(tenantId: TenantId, terms: readonly string[], filter: Partial<SearchFilter> = {}) {
  const rows = await allPages((cursor) => store.search(tenantId, { limit: 2, terms, ...filter, cursor }));
  return rows.map(({ role, snippet }) => `${role} ${snippet}`);
}

test('what people and agents said is found newest first, each once, by all of its words', async () => {
  const tenantId = await read.tenant('acme');
  const [a, b] = [read.stage.lane(tenantId, 'a'), read.stage.lane(tenantId, 'b')];
  await read.exchange(worker, a, 'The Pier is closed');
  await read.exchange(worker, b, 'the pier is open');
  await read.exchange(worker, a, 'good evening');
  const all = [
    'assistant re: the pier is open',
    'user the pier is open',
    'assistant re: The Pier is closed',
    'user The Pier is closed',
  ];
  expect(await found(tenantId, ['pier'])).toEqual(all);
  expect(await found(tenantId, ['pier'], { limit: 1 })).toEqual(all);
  expect(await found(tenantId, ['closed', 'pier is'])).toEqual(all.slice(2));
  expect(await found(tenantId, ['pier'], { lane: a, limit: 1 })).toEqual(all.slice(2));
  expect(await found(tenantId, ['pier'], { agentId: freshId() })).toEqual([]);
  expect(await found(tenantId, ["%_'\\", '$1'])).toEqual([]);
  expect(await found(await read.tenant('globex'), ['pier'])).toEqual([]);
});

test('a conversation that was erased is not found, and neither is what no turn has taken', async () => {
  const tenantId = await read.tenant('erased');
  const lane = read.stage.lane(tenantId, 'a');
  await read.exchange(worker, lane, 'a secret');
  await read.stage.send(read.stage.lane(tenantId, 'b'), 'a secret that waits');
  expect(await found(tenantId, ['secret'])).toHaveLength(2);
  // words go a little later than the session, as in a large conversation
  await read.stage.rows('delete from tk.sessions where lane_id = $1', [lane.laneId]);
  expect(await found(tenantId, ['secret'])).toEqual([]);
  expect(await found(tenantId, ['secret'], { lane })).toEqual([]);
  const erase = { command: 'erase', sessionId: null, newSessionId: freshId<SessionId>(), dedupe: null } as const;
  expect(await read.stage.control.control({ lane, ...erase })).toMatchObject({ result: 'done' });
  expect(await found(tenantId, ['secret'])).toEqual([]);
});

test('what lies behind a thousand other messages is come to page by page', async () => {
  const tenantId = await read.tenant('many');
  const lane = read.stage.lane(tenantId, 'a');
  await read.exchange(worker, lane, 'the needle');
  await read.stage.rows(
    `insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body)
     select m.slot, m.tenant_id, m.lane_id, m.seq + i, 0, tk.new_id(), m.session_id, 1, 'notice', '{"text": "hay"}'
     from tk.messages m cross join generate_series(1, 2500) i where m.tenant_id = $1`,
    [tenantId],
  );
  for (const where of [{}, { lane }]) {
    const first = await store.search(tenantId, { ...where, limit: 2, terms: ['needle'] });
    expect(first.nextCursor).toEqual(expect.any(String));
    expect(await found(tenantId, ['needle'], where)).toEqual(['assistant re: the needle', 'user the needle']);
  }
});

test('a page ends after four megabytes of text, however small it is stored', async () => {
  const tenantId = await read.tenant('packed');
  const lane = read.stage.lane(tenantId, 'a');
  await read.exchange(worker, lane, 'the needle');
  await read.stage.rows(
    `insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body)
     select m.slot, m.tenant_id, m.lane_id, m.seq + i, 0, tk.new_id(), m.session_id, 1, 'notice',
            jsonb_build_object('text', repeat('hay ', 262144))
     from tk.messages m cross join generate_series(1, 6) i where m.tenant_id = $1`,
    [tenantId],
  );
  const first = await store.search(tenantId, { limit: 2, terms: ['needle'] });
  expect(first).toEqual({ rows: [], nextCursor: expect.any(String) });
  expect(await found(tenantId, ['needle'])).toEqual(['assistant re: the needle', 'user the needle']);
});

describe('the database does what the vectors say', () => {
  type Match = { query: string; sessionKey: string | null; sessionKnown: boolean; contents: string[] };
  it.each(vectorsOf<Match, { hits: number[]; sessionCreated: boolean }>('history.json', 'search.match'))(
    '%s',
    async (id, { input, expected }) => {
      const tenantId = await read.tenant(id);
      const lane = read.stage.lane(tenantId, input.sessionKey ?? 'a');
      for (const content of input.contents) await read.exchange(worker, lane, content);
      const hits = await found(tenantId, searchTerms(input.query), input.sessionKey === null ? {} : { lane });
      const users = hits.filter((hit) => hit.startsWith('user ')).map((hit) => hit.slice('user '.length));
      expect(users.map((text) => input.contents.indexOf(text)).sort()).toEqual(expected.hits);
      const lanes = await read.stage.rows('select 1 from tk.lanes where tenant_id = $1', [tenantId]);
      expect(lanes.length > 0).toBe(expected.sessionCreated || input.contents.length > 0);
    },
  );

  it.each(vectorsOf<{ contentLength: number }, { snippetLength: number }>('history.json', 'search.snippet'))(
    '%s, wherever the find is',
    async (id, { input, expected }) => {
      const tenantId = await read.tenant(id);
      const lane = read.stage.lane(tenantId, 'a');
      const filling = '.'.repeat(input.contentLength - 4);
      for (const text of [`find${filling}`, `${filling}find`]) await read.exchange(worker, lane, text);
      const hits = (await found(tenantId, ['find'])).filter((hit) => hit.startsWith('user '));
      expect(hits.map((hit) => hit.length - 'user '.length)).toEqual([expected.snippetLength, expected.snippetLength]);
      for (const hit of hits) expect(hit).toContain('find');
    },
  );
});
