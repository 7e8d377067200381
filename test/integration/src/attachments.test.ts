/** Files: uploaded at one node, named by a message at another, downloaded by those who may. */
import { randomBytes, randomUUID } from 'node:crypto';
import type { UploadAnswer } from '@turnkeeper/protocol';
import { type Cluster, type FakeOpenAi, startCluster, startFakeOpenAi } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

let cluster: Cluster;
let model: FakeOpenAi;
beforeAll(async () => {
  model = await startFakeOpenAi();
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 1, coordinators: 1, mode: 'inline' });
  const openai = { baseUrl: `${model.url}/v1`, model: 'm', images: true };
  const agents = [
    { name: 'main', runtime: 'echo' },
    { name: 'seer', runtime: 'openai', openai },
  ];
  await cluster.putTenant({ name: 'test', key: cluster.apiKey, agents });
});
afterAll(async () => {
  await cluster[Symbol.asyncDispose]();
  await model.close();
});

const PNG = Buffer.concat([
  Buffer.from('89504e470d0a1a0a0000000d494844520000000100000001080600000', 'hex'),
  Buffer.from('01f15c4890000000a49444154789c6360000002000148afa4710000000049454e44ae426082', 'hex'),
]);

interface UploadOptions {
  readonly name?: string;
  readonly type?: string;
  readonly token?: string;
  readonly key?: string;
  readonly node?: number;
}

async function upload(
  body: RequestInit['body'],
  { name, type = '', token = cluster.apiKey, key, node = 0 }: UploadOptions = {},
) {
  const query = name === undefined ? '' : `?name=${encodeURIComponent(name)}`;
  const answer = await fetch(`${cluster.ingress[node]?.url}/v1/uploads${query}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': type,
      ...(key !== undefined && { 'idempotency-key': key }),
    },
    body: body ?? null,
    ...{ duplex: 'half' },
  });
  return {
    status: answer.status,
    headers: answer.headers,
    json: (await answer.json()) as UploadAnswer & { code: string },
  };
}

const download = (id: string, token = cluster.apiKey, headers: Record<string, string> = {}) =>
  fetch(`${cluster.ingress[1]?.url}/v1/attachments/${id}`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
  });

async function visitor(sub: string): Promise<string> {
  return (await cluster.api('/v1/client-tokens', { body: { sub } })).json.token;
}

describe('an upload', () => {
  test('is told what it is by its bytes, and comes back as it went in, from another node, as nothing a browser runs', async () => {
    const sent = await upload(PNG, { name: '../pier "1".png', type: 'text/html' });
    expect([sent.status, sent.json]).toEqual([
      201,
      expect.objectContaining({ kind: 'image', name: 'pier _1_.png', mime: 'image/png', size: PNG.length }),
    ]);
    const got = await download(sent.json.attachmentId);
    expect(Buffer.from(await got.arrayBuffer())).toEqual(PNG);
    expect(Object.fromEntries(got.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(PNG.length),
      'content-disposition': `attachment; filename="pier _1_.png"; filename*=UTF-8''pier%20_1_.png`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    });
    const again = await download(sent.json.attachmentId, cluster.apiKey, {
      'if-none-match': got.headers.get('etag') ?? '',
    });
    expect(again.status).toBe(304);
  });

  test('of many pieces and no announced length is whole', async () => {
    const bytes = randomBytes(700_001);
    const pieces = [bytes.subarray(0, 3), bytes.subarray(3, 500_000), bytes.subarray(500_000)];
    const sent = await upload(ReadableStream.from(pieces), { name: 'a.bin' });
    expect(sent.json).toMatchObject({ kind: 'file', mime: 'application/octet-stream', size: bytes.length });
    expect(Buffer.from(await (await download(sent.json.attachmentId)).arrayBuffer()).equals(bytes)).toBe(true);
  });

  test('that is larger than files may be is answered 413, announced or not', async () => {
    const tooLarge = 20 * 1024 * 1024 + 1;
    const announced = await upload(Buffer.alloc(tooLarge));
    expect([announced.status, announced.json.code]).toEqual([413, 'attachment_too_large']);
    const pieces = Array.from({ length: 21 }, () => Buffer.alloc(1024 * 1024));
    const streamed = await upload(ReadableStream.from(pieces));
    expect([streamed.status, streamed.json.code]).toEqual([413, 'attachment_too_large']);
  });

  test('of no bytes, or as a form, is refused', async () => {
    expect((await upload('', { type: 'text/plain' })).json.code).toBe('upload_incomplete');
    expect((await upload(new FormData(), { type: 'multipart/form-data; boundary=x' })).json.code).toBe('invalid_field');
  });

  test('is one however often it is repeated with its key; another file with that key is refused', async () => {
    const key = randomUUID();
    const [first, again] = [await upload('one', { key }), await upload('one', { key, node: 1 })];
    expect([again.json.attachmentId, again.headers.get('idempotent-replayed')]).toEqual([
      first.json.attachmentId,
      'true',
    ]);
    expect((await upload('two', { key })).json.code).toBe('idempotency_mismatch');
  });

  test('needs a key that may write; a file of another tenant is a missing one', async () => {
    expect((await upload('x', { token: 'tk_nobody00_00000000000000000000000000000000' })).status).toBe(401);
    const { attachmentId } = (await upload('mine')).json;
    const foreignKey = `tk_foreign1_${'f'.repeat(32)}`;
    await cluster.putTenant({ name: 'foreign', key: foreignKey, agents: [{ name: 'main', runtime: 'echo' }] });
    const [foreign, missing] = [
      await download(attachmentId, foreignKey),
      await download(attachmentId.replace(/.$/, '0'), foreignKey),
    ];
    expect([foreign.status, missing.status]).toEqual([404, 404]);
    const { requestId: _, ...told } = (await foreign.json()) as Record<string, unknown>;
    expect(await missing.json()).toMatchObject(told);
    const named = await cluster.api('/v1/messages', {
      key: foreignKey,
      body: { sessionKey: 'k', text: 'x', attachments: [{ ref: attachmentId }] },
    });
    expect([named.status, named.json.code]).toEqual([422, 'upload_incomplete']);
  });
});

describe('a message', () => {
  test('carries what is known of its files, in the reply of an echo, in history and in the stream', async () => {
    const { attachmentId } = (await upload(PNG, { name: 'pier.png' })).json;
    const sessionKey = randomUUID();
    const attachments = [{ ref: attachmentId, name: 'lies.exe', mime: 'text/html', size: 1 }];
    const sent = await cluster.api('/v1/messages', { body: { sessionKey, text: 'see', attachments } });
    expect(sent.status).toBe(202);
    const stored = { kind: 'image', ref: attachmentId, name: 'pier.png', mime: 'image/png', size: PNG.length };
    const run = (await cluster.api(`/v1/runs/${sent.json.runId}?wait=30`)).json;
    expect(run.reply).toEqual({ text: 'see', attachments: [stored] });
    const { data } = (await cluster.api(`/v1/sessions/${sessionKey}/history`)).json;
    const parts = [
      { type: 'text', text: 'see' },
      { type: 'attachment', ...stored },
    ];
    expect(data.map((message: { parts: unknown }) => message.parts)).toEqual([parts, parts]);
  });

  test('of a file alone is answered', async () => {
    const { attachmentId } = (await upload(PNG)).json;
    const body = { sessionKey: randomUUID(), text: '', attachments: [{ ref: attachmentId }] };
    const sent = await cluster.api('/v1/messages', { body });
    const run = (await cluster.api(`/v1/runs/${sent.json.runId}?wait=30`)).json;
    expect([run.status, run.reply.attachments.length]).toEqual(['ok', 1]);
  });

  test('reaches a model: pictures as pictures, text as text, the rest by name', async () => {
    const uploads = [
      upload(PNG, { name: 'pier.png' }),
      upload('a,b', { name: 'a.csv', type: 'text/csv' }),
      upload(randomBytes(9)),
    ];
    const attachments = (await Promise.all(uploads)).map(({ json }) => ({ ref: json.attachmentId }));
    const body = { agentId: 'seer', sessionKey: randomUUID(), text: 'look', attachments };
    const { runId } = (await cluster.api('/v1/messages', { body })).json;
    expect((await cluster.api(`/v1/runs/${runId}?wait=30`)).json.status).toBe('ok');
    expect(model.requests.at(-1)?.messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG.toString('base64')}` } },
        { type: 'text', text: '[File a.csv, text/csv, 3 bytes]\na,b\n[End of a.csv]' },
        { type: 'text', text: expect.stringContaining('9 bytes: its content is not shown here]') },
      ],
    });
  });

  test.each([
    ['unknown', [{ ref: 'att_01kb9h5nz9e0dbm5zrt9k2h3a4' }], 'upload_incomplete'],
    ['no id at all', [{ ref: 'https://example.com/x.png' }], 'upload_incomplete'],
    ['too many', Array.from({ length: 21 }, () => ({ ref: 'x' })), 'file_count_exceeded'],
  ])('that names files that are %s is refused, and nothing is stored', async (_what, attachments, code) => {
    const sessionKey = randomUUID();
    const refused = await cluster.api('/v1/messages', { body: { sessionKey, text: 'x', attachments } });
    expect([refused.status, refused.json.code]).toEqual([422, code]);
    expect((await cluster.api(`/v1/sessions/${sessionKey}`)).status).toBe(404);
  });

  test('without a turn carries its files, too', async () => {
    const { attachmentId } = (await upload('notes', { name: 'n.txt' })).json;
    const sessionKey = randomUUID();
    const sent = await cluster.api('/v1/messages', { body: { sessionKey, text: 'hi' } });
    await cluster.api(`/v1/runs/${sent.json.runId}?wait=30`);
    const body = { text: 'here', author: 'human', attachments: [{ ref: attachmentId }] };
    expect((await cluster.api(`/v1/sessions/${sessionKey}/outbound`, { body })).status).toBe(202);
    const { data } = (await cluster.api(`/v1/sessions/${sessionKey}/history`)).json;
    expect(data.at(-1).parts[1]).toMatchObject({ type: 'attachment', ref: attachmentId, mime: 'text/plain' });
  });
});

test('a visitor sees what it uploaded itself and nothing of others', async () => {
  const [ann, bob] = [await visitor('ann'), await visitor('bob')];
  const sent = await upload('from ann', { token: ann });
  expect(sent.status).toBe(201);
  const { attachmentId } = sent.json;
  expect((await download(attachmentId, ann)).status).toBe(200);
  expect((await download(attachmentId)).status).toBe(200);
  expect((await download(attachmentId, bob)).status).toBe(404);
  const ofTenant = (await upload('of the tenant')).json.attachmentId;
  expect((await download(ofTenant, ann)).status).toBe(404);
});
