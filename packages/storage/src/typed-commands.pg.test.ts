import type { BootId, MessageId, SessionId, TenantId, TypedCommand } from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { PostgresControlStore } from './control-store.ts';
import { type Database, openDatabase } from './database.ts';
import { checkInvariants } from './invariants.ts';
import { CuttingProxy } from './testing/cutting-proxy.ts';
import { freshId, message, openStage, type Stage, type StageLane } from './testing/stage.ts';

const NOTICES = { done: { code: 'done', text: 'Done.' }, idle: { code: 'idle', text: 'Nothing to do.' } };
let stage: Stage;
let proxy: CuttingProxy;
let engine: Database;
let control: PostgresControlStore;
let tenant: TenantId;
let worker: BootId;
let names = 0;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  proxy = await CuttingProxy.open(stage.fresh.url);
  engine = openDatabase({ url: proxy.url, role: 'tk_engine', poolMax: 1, applicationName: 'cut' });
  control = new PostgresControlStore(engine);
  tenant = await stage.tenant('acme');
  worker = await stage.worker();
});
afterAll(async () => {
  try {
    expect((await checkInvariants(stage.sweep, new Date(0))).violations).toEqual([]);
  } finally {
    await engine.close();
    await proxy.close();
    await stage.close();
  }
});

const newLane = () => stage.lane(tenant, `typed-${names++}`);

function typed(lane: StageLane, text: string, over: Partial<TypedCommand> = {}): TypedCommand {
  const [newSessionId, noticeId] = [freshId<SessionId>(), freshId<MessageId>()];
  const item = message(lane, text, { kind: 'command' });
  return { item, command: 'stop', goesOn: false, newSessionId, noticeId, notices: NOTICES, ...over };
}

const noticesOf = (lane: StageLane) =>
  stage.rows("select body ->> 'code' code from tk.messages where lane_id = $1 and role = 'notice' order by seq", [
    lane.laneId,
  ]);
const statesOf = async (lane: StageLane) => {
  const rows = await stage.rows<{ state: number }>('select state from tk.events where lane_id = $1 order by ord', [
    lane.laneId,
  ]);
  return rows.map(({ state }) => state);
};

test('a typed stop ends the turn and the next waiting message, and says so in the same transaction', async () => {
  const lane = newLane();
  for (const text of ['a', 'b', 'c']) await stage.send(lane, text);
  const turn = await stage.claim(worker, lane);
  const result = await control.typed(worker, typed(lane, '/stop'));
  const ended = [turn.events[0]?.eventId, expect.any(String)];
  expect(result).toMatchObject({ result: 'accepted', position: 0, done: { turnId: turn.fence.turnId, ended } });
  expect(await statesOf(lane)).toEqual([18, 18, 0, 18]);
  expect(await noticesOf(lane)).toEqual([{ code: 'done' }]);
  expect(await stage.commit(worker, turn)).toMatchObject({ result: 'stale' });
});

test('where nothing runs or waits it is accepted and says that, also in a conversation that never was', async () => {
  const lane = newLane();
  expect(await control.typed(worker, typed(lane, '/stop'))).toMatchObject({
    result: 'accepted',
    done: { turnId: null },
  });
  expect(await noticesOf(lane)).toEqual([{ code: 'idle' }]);
  expect(await stage.lanes.look([lane])).toEqual([false]);
});

test('what follows /new is the first message of the fresh session; what people said before is dropped, wakes stay', async () => {
  const lane = newLane();
  await stage.send(lane, 'a');
  const before = await stage.claim(worker, lane);
  await stage.commit(worker, before);
  await stage.send(lane, 'b');
  await stage.send(lane, 'wake', { kind: 'wake' });
  const request = typed(lane, 'topic', { command: 'reset', goesOn: true });
  expect(await control.typed(worker, request)).toMatchObject({ result: 'accepted', position: 1 });
  expect(await statesOf(lane)).toEqual([10, 18, 0, 0]);
  expect(await noticesOf(lane)).toEqual([]);
  await stage.commit(worker, await stage.claim(worker, lane));
  const first = await stage.claim(worker, lane);
  expect(first).toMatchObject({
    sessionId: request.newSessionId,
    events: [{ kind: 'command', body: { text: 'topic' } }],
  });
  await stage.commit(worker, first);
});

test('a command whose answer was lost is done once, and one that comes again is the first one', async () => {
  const lane = newLane();
  await stage.send(lane, 'a');
  await stage.send(lane, 'b');
  const request = typed(lane, '/stop');
  await engine.query({ name: 'wake', text: 'select 1' }, []);
  proxy.loseNextAnswer();
  await expect(control.typed(worker, request)).rejects.toMatchObject({ failure: 'unknown', retryable: true });
  expect(await control.typed(worker, request)).toMatchObject({ result: 'accepted', done: null });
  const again = typed(lane, '/stop');
  const item = { ...again.item, dedupe: request.item.dedupe };
  expect(await control.typed(worker, { ...again, item })).toMatchObject({
    ...{ result: 'duplicate', eventId: request.item.eventId },
  });
  const other = { ...item.dedupe, bodyHash: new Uint8Array([9]) };
  expect(await control.typed(worker, { ...again, item: { ...item, dedupe: other } })).toMatchObject({
    result: 'mismatch',
  });
  expect(await statesOf(lane)).toEqual([18, 0, 18]);
  expect(await noticesOf(lane)).toEqual([{ code: 'done' }]);
  await stage.commit(worker, await stage.claim(worker, lane));
});
