import { hash } from 'node:crypto';
import { type AttachmentId, digestId, formatId, type MessageId, type SessionId, type TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { PostgresAttachmentStore } from './attachment-store.ts';
import { freshId, openStage, type Stage, type StageLane } from './testing/stage.ts';

let stage: Stage;
let store: PostgresAttachmentStore;
let tenantId: TenantId;
let other: TenantId;

beforeAll(async () => {
  stage = await openStage(inject('urls'));
  store = new PostgresAttachmentStore(stage.engine);
  [tenantId, other] = [await stage.tenant('files'), await stage.tenant('strangers')];
});
afterAll(() => stage.close());

const QUOTA = 1_000_000;
const bytesOf = (text: string) => new TextEncoder().encode(text);

async function begin(over: { readonly reserveBytes?: number; readonly tenantId?: TenantId } = {}) {
  const attachmentId = freshId<AttachmentId>();
  const upload = {
    tenantId,
    attachmentId,
    owner: 'key:1',
    name: 'a.txt',
    reserveBytes: 100,
    quotaBytes: QUOTA,
    ...over,
  };
  expect(await store.begin(upload)).toBe(true);
  return attachmentId;
}

function finish(attachmentId: AttachmentId, text: string, key: string | null = null) {
  const bytes = bytesOf(text);
  const sha256 = hash('sha256', bytes, 'buffer');
  const idempotency = key === null ? null : { scope: digestId('uploads'), key };
  return store.finish({
    tenantId,
    attachmentId,
    mime: 'text/plain',
    kind: 'file',
    size: bytes.length,
    sha256,
    idempotency,
  });
}

async function upload(text: string, key: string | null = null): Promise<AttachmentId> {
  const attachmentId = await begin();
  expect(await store.append(tenantId, attachmentId, { index: 0, bytes: bytesOf(text) })).toBe(true);
  expect(await finish(attachmentId, text, key)).toEqual({ result: 'stored' });
  return attachmentId;
}

const heldBytes = async (of = tenantId) => {
  const [row] = await stage.rows<{ bytes: string }>('select bytes from tk.attachment_totals where tenant_id = $1', [
    of,
  ]);
  return Number(row?.bytes ?? 0);
};
const age = (attachmentId: AttachmentId, by: string) =>
  stage.rows('update tk.attachments set expires_at = expires_at - $2::interval where id = $1', [attachmentId, by]);
const exists = async (attachmentId: AttachmentId) =>
  (await stage.rows('select 1 from tk.attachments where id = $1', [attachmentId])).length === 1;

function naming(lane: StageLane, attachmentId: AttachmentId) {
  const attachments = [
    { kind: 'file', ref: formatId('att', attachmentId), name: 'a.txt', mime: 'text/plain', size: 1 },
  ];
  const source = { platform: 'api', chatType: 'dm', chatId: lane.sessionKey };
  return { body: { text: 'see', source, attachments }, uses: [attachmentId] };
}

test('a file is seen when it is whole, by its tenant alone, and its bytes come back in order', async () => {
  const attachmentId = await begin();
  await store.append(tenantId, attachmentId, { index: 0, bytes: bytesOf('one ') });
  await store.append(tenantId, attachmentId, { index: 1, bytes: bytesOf('two') });
  await store.append(tenantId, attachmentId, { index: 1, bytes: bytesOf('two') });
  expect(await store.find(tenantId, [attachmentId])).toEqual([]);
  expect(await finish(attachmentId, 'one two')).toEqual({ result: 'stored' });
  expect(await finish(attachmentId, 'one two')).toEqual({ result: 'stored' });
  const [found] = await store.find(tenantId, [attachmentId]);
  expect(found).toMatchObject({
    attachmentId,
    owner: 'key:1',
    name: 'a.txt',
    mime: 'text/plain',
    kind: 'file',
    size: 7,
  });
  expect(found?.expiresAt?.getTime()).toBeGreaterThan(Date.now());
  const read = await Promise.all([0, 1, 2].map((index) => store.read(tenantId, attachmentId, index)));
  expect(read.map((bytes) => bytes && new TextDecoder().decode(bytes))).toEqual(['one ', 'two', null]);
  expect(await store.find(other, [attachmentId])).toEqual([]);
  expect(await store.read(other, attachmentId, 0)).toBeNull();
  expect(await store.append(other, attachmentId, { index: 2, bytes: bytesOf('x') })).toBe(false);
  expect(await store.append(tenantId, attachmentId, { index: 2, bytes: bytesOf('x') })).toBe(false);
  await store.drop(tenantId, attachmentId);
  expect(await exists(attachmentId)).toBe(true);
});

test('what is set aside counts until it is known, and no upload passes the quota', async () => {
  const before = await heldBytes();
  const attachmentId = await begin({ reserveBytes: QUOTA - before - 10 });
  const refused = { tenantId, attachmentId: freshId<AttachmentId>(), owner: 'k', name: 'b', quotaBytes: QUOTA };
  expect(await store.begin({ ...refused, reserveBytes: 11 })).toBe(false);
  await store.append(tenantId, attachmentId, { index: 0, bytes: bytesOf('five5') });
  await finish(attachmentId, 'five5');
  expect(await heldBytes()).toBe(before + 5);
  const dropped = await begin({ reserveBytes: 500 });
  await store.drop(tenantId, dropped);
  await store.drop(tenantId, dropped);
  expect(await heldBytes()).toBe(before + 5);
  expect(await store.begin({ ...refused, tenantId: other, reserveBytes: QUOTA + 1 })).toBe(false);
});

test('an idempotency key stands for one file', async () => {
  const first = await upload('same', 'k1');
  const again = await begin();
  expect(await finish(again, 'same', 'k1')).toEqual({ result: 'duplicate', attachmentId: first });
  expect(await exists(again)).toBe(false);
  expect(await finish(await begin(), 'different', 'k1')).toEqual({ result: 'mismatch' });
  const held = await heldBytes();
  const racers = [await begin(), await begin()];
  const results = await Promise.all(racers.map((id) => finish(id, 'race', 'k2')));
  expect(results.map(({ result }) => result).sort()).toEqual(['duplicate', 'stored']);
  expect(await heldBytes()).toBe(held + 4);
  await age(first, '25 hours');
  expect(await finish(await begin(), 'different', 'k1')).toEqual({ result: 'stored' });
});

test('an upload that is never finished, and a file that no message names, are swept', async () => {
  const kept = await upload('kept');
  const [broken, unnamed] = [await begin(), await upload('unnamed')];
  await store.append(tenantId, broken, { index: 0, bytes: bytesOf('half') });
  await age(broken, '59 minutes');
  await age(unnamed, '23 hours 59 minutes');
  await stage.repair.deleteExpired({ settledDays: 30, dedupeDays: 8, batch: 100 });
  expect([await exists(broken), await exists(unnamed)]).toEqual([true, true]);
  await age(broken, '12 minutes');
  await age(unnamed, '12 minutes');
  expect(await store.find(tenantId, [unnamed])).toEqual([]);
  expect(await finish(broken, 'half')).toEqual({ result: 'stored' });
  await age(broken, '25 hours');
  await stage.repair.deleteExpired({ settledDays: 30, dedupeDays: 8, batch: 100 });
  expect([await exists(broken), await exists(unnamed), await exists(kept)]).toEqual([false, false, true]);
  const [sum] = await stage.rows<{ sum: string }>('select sum(bytes) from tk.attachments where tenant_id = $1', [
    tenantId,
  ]);
  expect(await heldBytes()).toBe(Number(sum?.sum));
  expect(await stage.rows('select 1 from tk.attachment_chunks where attachment_id = $1', [unnamed])).toEqual([]);
});

test('a file lives as long as a message names it', async () => {
  const lane = stage.lane(tenantId, 'named');
  const attachmentId = await upload('named');
  const event = await stage.send(lane, 'see', naming(lane, attachmentId));
  expect((await store.find(tenantId, [attachmentId]))[0]?.expiresAt).toBeNull();
  expect(await store.lanesOf(tenantId, attachmentId)).toEqual([
    { slot: lane.slot, tenantId: lane.tenantId, laneId: lane.laneId },
  ]);
  expect(await store.lanesOf(other, attachmentId)).toEqual([]);
  await stage.rows("update tk.attachment_uses set at = at - interval '31 days' where attachment_id = $1", [
    attachmentId,
  ]);
  await stage.repair.deleteExpired({ settledDays: 30, dedupeDays: 8, batch: 100 });
  expect((await store.find(tenantId, [attachmentId]))[0]?.expiresAt).toBeNull();
  await stage.rows('delete from tk.events where id = $1', [event]);
  await stage.repair.deleteExpired({ settledDays: 30, dedupeDays: 8, batch: 100 });
  expect(await store.find(tenantId, [attachmentId])).toEqual([]);
  await age(attachmentId, '11 minutes');
  await stage.repair.deleteExpired({ settledDays: 30, dedupeDays: 8, batch: 100 });
  expect(await exists(attachmentId)).toBe(false);
});

test('a message that names a file which is no more is refused alone; those beside it are accepted', async () => {
  const lane = stage.lane(tenantId, 'beside');
  const gone = freshId<AttachmentId>();
  await expect(stage.send(lane, 'see', naming(lane, gone))).rejects.toMatchObject({ failure: 'row' });
  expect(await stage.rows('select 1 from tk.events where lane_id = $1', [lane.laneId])).toEqual([]);
});

test('a message that the lane has no room for keeps no file', async () => {
  const lane = stage.lane(tenantId, 'full');
  const attachmentId = await upload('full');
  await expect(stage.send(lane, 'see', { ...naming(lane, attachmentId), laneCap: 0 })).rejects.toThrow('lane_full');
  expect((await store.find(tenantId, [attachmentId]))[0]?.expiresAt).toBeInstanceOf(Date);
});

test('what a person sends without a turn keeps its files, and an erased conversation loses them at once', async () => {
  const lane = stage.lane(tenantId, 'erased');
  const elsewhere = stage.lane(tenantId, 'elsewhere');
  await stage.send(elsewhere, 'a');
  const [own, shared] = [await upload('own'), await upload('shared')];
  const worker = await stage.worker();
  await stage.send(lane, 'see', naming(lane, shared));
  await stage.commit(worker, await stage.claim(worker, lane));
  const outbound = (to: StageLane, attachmentId: AttachmentId) =>
    stage.control.sendOutbound({
      ...{ lane: to, sessionId: null, newSessionId: freshId<SessionId>(), messageId: freshId<MessageId>() },
      ...{ author: 'human', body: { text: 'here' }, accountId: null, uses: [attachmentId], undeliveredMax: 10 },
      dedupe: { scope: digestId('route'), key: freshId(), bodyHash: bytesOf('x') },
    });
  expect(await outbound(lane, own)).toMatchObject({ result: 'sent' });
  expect(await outbound(elsewhere, shared)).toMatchObject({ result: 'sent' });
  const erased = await stage.control.control({
    ...{ lane, sessionId: null, command: 'erase', newSessionId: freshId<SessionId>(), dedupe: null },
  });
  expect(erased.result).toBe('done');
  expect((await store.find(tenantId, [own, shared])).map(({ attachmentId }) => attachmentId)).toEqual([shared]);
  await stage.repair.deleteExpired({ settledDays: 30, dedupeDays: 8, batch: 100 });
  expect([await exists(own), await exists(shared)]).toEqual([false, true]);
});
