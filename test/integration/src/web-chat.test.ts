/** Web chat over real sockets of two ingress nodes (surface §4). */
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { ChatClient, type ChatOptions, type Frame } from './chat-client.fixture.ts';

const PAGE = 'https://shop.example';
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 2, workers: 1, coordinators: 1, mode: 'inline' });
  await cluster.putTenant({
    name: 'test',
    key: cluster.apiKey,
    agents: [
      { name: 'main', runtime: 'echo', echo: { wordMs: 5 } },
      { name: 'held', runtime: 'echo', echo: { delayMs: 60_000 } },
    ],
    accounts: [
      { name: 'site', agent: 'main', channel: 'webchat', options: { origins: [PAGE] } },
      { name: 'held', agent: 'held', channel: 'webchat' },
    ],
  });
});
afterAll(() => cluster[Symbol.asyncDispose]());

const urlOf = (node = 0) => cluster.ingress[node]?.url ?? '';

async function tokenOf(sub: string, more: object = {}): Promise<string> {
  const { json } = await cluster.api('/v1/client-tokens', { body: { sub, ...more } });
  return json.token;
}

async function visit(sub: string, { node = 0, ...more }: { node?: number } & Record<string, unknown> = {}) {
  return ChatClient.connect(urlOf(node), { token: await tokenOf(sub, more) });
}

const isReply = ({ type, data }: Frame) => type === 'message.created' && data?.['role'] === 'assistant';
const textsOf = (frames: readonly Frame[]) => frames.filter(isReply).map(({ data }) => data?.['text']);

describe('a visitor', () => {
  test('says something, has it acknowledged after the commit, and sees the answer come', async () => {
    using ann = await visit('ann');
    ann.say('u_ann', 'm-1', 'hello dear gateway');
    const ack = await ann.answerTo('m-1');
    expect(ack).toMatchObject({ type: 'ack', duplicate: false, eventId: expect.stringMatching(/^evt_/) });
    const reply = await ann.next(isReply);
    expect(reply).toMatchObject({ room: 'u_ann', sessionKey: 'agent:main:webchat:dm:u_ann', seq: expect.any(Number) });
    expect(reply.data).toMatchObject({ text: 'hello dear gateway' });
    await ann.next(({ type, data }) => type === 'run.settled' && data?.['runId'] === ack['runId']);
    const mine = await ann.next(({ type, data }) => type === 'message.created' && data?.['role'] === 'user');
    expect(mine.data).toMatchObject({ clientId: 'm-1' });
  });

  test('whose acknowledgement was lost sends again, to the other node, and is heard once', async () => {
    using first = await visit('bea');
    first.say('u_bea', 'm-1', 'only once');
    const ack = await first.answerTo('m-1');
    using second = await visit('bea', { node: 1 });
    second.send({ type: 'message', room: 'u_bea', clientId: 'm-1', text: 'only once', resend: true });
    expect(await second.answerTo('m-1')).toMatchObject({ type: 'ack', duplicate: true, runId: ack['runId'] });
    second.say('u_bea', 'm-1', 'something else');
    const refused = await second.next(({ type }) => type === 'nack');
    expect(refused).toMatchObject({ code: 'idempotency_mismatch', retryable: false });
    second.say('u_bea', 'm-2', 'and then this');
    await second.next((frame) => isReply(frame) && frame.data?.['text'] === 'and then this');
    second.send({ type: 'resume', room: 'u_bea', lastSeq: 0 });
    await second.next(({ type, data }) => type === 'stream.replayed' && Number(data?.['replayedTo']) > 2);
    expect(new Set(textsOf(second.frames))).toEqual(new Set(['only once', 'and then this']));
  });

  test('is answered in the order in which it spoke', async () => {
    using cid = await visit('cid');
    const said = Array.from({ length: 20 }, (_, i) => `number ${i}`);
    for (const [i, text] of said.entries()) cid.say('u_cid', `m-${i}`, text);
    await cid.next((frame) => isReply(frame) && frame.data?.['text'] === 'number 19');
    expect(textsOf(cid.frames)).toEqual(said);
    const acks = cid.frames.filter(({ type }) => type === 'ack').map(({ clientId }) => clientId);
    expect(acks).toEqual(said.map((_, i) => `m-${i}`));
  });

  test('comes back to the other node and gets what it missed, each event once', async () => {
    let id: string | undefined;
    {
      using dan = await visit('dan');
      dan.say('u_dan', 'm-1', 'first');
      id = (await dan.next(isReply)).id;
    }
    using again = await visit('dan', { node: 1 });
    again.send({ type: 'resume', room: 'u_dan', lastSeq: id });
    await again.next(({ type }) => type === 'stream.replayed');
    again.say('u_dan', 'm-2', 'second');
    await again.next((frame) => isReply(frame) && frame.data?.['text'] === 'second');
    expect(textsOf(again.frames)).toEqual(['second']);
    const ids = again.frames.flatMap((frame) => frame.id ?? []);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('gets no events that are not for visitors', async () => {
    using eve = await visit('eve');
    using owner = await ChatClient.connect(urlOf(1), { token: cluster.apiKey });
    eve.say('u_eve', 'm-1', 'hi');
    await eve.next(isReply);
    owner.send({ type: 'subscribe', sessionKey: 'agent:main:webchat:dm:u_eve', after: 0 });
    await owner.next(isReply);
    for (const { type } of eve.frames)
      expect(['delivery.updated', 'step.committed', 'tool.started']).not.toContain(type);
    owner.send({ type: 'unsubscribe', sessionKey: 'agent:main:webchat:dm:u_eve' });
    owner.send({ type: 'ping', t: 1 });
    await owner.next(({ type }) => type === 'pong');
    expect(owner.frames.filter(({ type }) => type === 'error')).toEqual([]);
  });

  test('stops its own turn', async () => {
    using fay = await visit('fay', { agentId: 'held' });
    fay.say('u_fay', 'm-1', 'never mind');
    await fay.next(({ type }) => type === 'turn.started');
    fay.send({ type: 'stop', room: 'u_fay' });
    const settled = await fay.next(({ type }) => type === 'run.settled');
    expect(settled.data).toMatchObject({ status: 'discarded' });
    fay.send({ type: 'stop', room: 'u_fay' });
    expect((await fay.next(({ type }) => type === 'error')).data).toMatchObject({ code: 'nothing_to_stop' });
  });

  test('stops in a room of several what its own message began, and nobody else’s', async () => {
    const room = { agentId: 'held', rooms: ['salon'] };
    using kit = await visit('kit', room);
    using leo = await visit('leo', { ...room, node: 1 });
    kit.say('salon', 'm-1', 'never mind');
    const { runId } = await kit.answerTo('m-1');
    await kit.next(({ type }) => type === 'turn.started');
    leo.send({ type: 'stop', room: 'salon' });
    expect((await leo.next(({ type }) => type === 'error')).data).toMatchObject({ code: 'nothing_to_stop' });
    const key = encodeURIComponent('agent:held:webchat:dm:salon');
    const { json } = await cluster.api('/v1/client-tokens', { body: { sub: 'leo', ...room } });
    const byHttp = await cluster.api(`/v1/sessions/${key}/stop`, { method: 'POST', key: json.token, body: {} });
    expect(byHttp).toMatchObject({ status: 409, json: { code: 'nothing_to_stop' } });
    leo.say('salon', 'm-2', '/stop');
    expect((await leo.next(({ type }) => type === 'notice.created')).data).toMatchObject({ code: 'nothing_to_stop' });
    expect((await cluster.api(`/v1/runs/${runId}`)).json.status).toBe('running');
    kit.send({ type: 'stop', room: 'salon' });
    const settled = await kit.next(({ type, data }) => type === 'run.settled' && data?.['runId'] === runId);
    expect(settled.data).toMatchObject({ status: 'discarded' });
  });

  test('stops what runs by typing /stop, is told truly what came of it, and by nobody else’s text', async () => {
    using ida = await visit('ida', { agentId: 'held' });
    ida.say('u_ida', 'm-1', '/stopped is no command');
    const { runId } = await ida.answerTo('m-1');
    await ida.next(({ type }) => type === 'turn.started');
    ida.say('u_ida', 'm-2', '/stop');
    const first = await ida.answerTo('m-2');
    const isNotice = ({ type }: Frame) => type === 'notice.created';
    expect((await ida.next(isNotice)).data).toEqual({ code: 'stopped', text: 'Stopped.' });
    const stateOf = async (id: unknown) => (await cluster.api(`/v1/runs/${id}`)).json.status;
    expect([await stateOf(runId), await stateOf(first['runId'])]).toEqual(['discarded', 'discarded']);
    ida.say('u_ida', 'm-2', '/stop');
    expect(await ida.next(({ type, duplicate }) => type === 'ack' && duplicate === true)).toMatchObject({
      runId: first['runId'],
    });
    ida.say('u_ida', 'm-3', '/stop');
    expect((await ida.next((frame) => isNotice(frame) && frame.data?.['code'] !== 'stopped')).data).toMatchObject({
      code: 'nothing_to_stop',
    });
  });

  test('begins afresh by typing /new, what follows is said first, and goes back by typing /resume', async () => {
    using joe = await visit('joe');
    joe.say('u_joe', 'm-1', 'before');
    const before = (await joe.next(isReply))['sessionId'];
    joe.say('u_joe', 'm-2', '/new topic');
    const after = (await joe.next((frame) => isReply(frame) && frame.data?.['text'] === 'topic'))['sessionId'];
    expect(after).not.toBe(before);
    const told = (code: string) => joe.next(({ type, data }) => type === 'notice.created' && data?.['code'] === code);
    joe.say('u_joe', 'm-3', '/reset');
    expect([after, before]).not.toContain((await told('session_reset'))['sessionId']);
    joe.say('u_joe', 'm-4', '/resume');
    expect((await told('sessions')).data?.['text']).toMatch(new RegExp(`^${before} · .*before$`, 'm'));
    joe.say('u_joe', 'm-5', `/resume ${before}`);
    await told('session_resumed');
    joe.say('u_joe', 'm-6', 'back again');
    const isBack = (it: Frame) => isReply(it) && it['sessionId'] === before;
    await joe.next((it) => isBack(it) && it.data?.['text'] === 'back again');
  });

  test('proves by what it saw that a reply was delivered', async () => {
    using gus = await visit('gus');
    gus.say('u_gus', 'm-1', 'are you there');
    const { runId } = await gus.answerTo('m-1');
    const reply = await gus.next(isReply);
    const stateOf = async () => {
      const { json } = await cluster.api(`/v1/events/${String(runId).replace('run', 'evt')}/timeline`);
      return json.data.findLast(({ step }: { step: string }) => step === 'delivery')?.status;
    };
    await expect.poll(stateOf, { timeout: 20_000 }).toBe('offered');
    gus.send({ type: 'seen', room: 'u_gus', seq: reply.seq });
    await expect.poll(stateOf, { timeout: 20_000 }).toBe('delivered');
  });
});

describe('a question', () => {
  test('is answered by its visitor over the socket, and by no other', async () => {
    using rae = await visit('rae');
    using sue = await visit('sue', { node: 1 });
    rae.say('u_rae', 'm-1', '[[ask Blue or green?]]');
    const asked = await rae.next(({ type }) => type === 'input.required');
    expect(asked).toMatchObject({ room: 'u_rae', data: { prompt: 'Blue or green?', kind: 'question' } });
    const waits = await rae.next(({ type }) => type === 'run.waiting');
    const inputId = asked.data?.['inputId'];
    expect(waits).toMatchObject({ seq: asked.seq, data: { inputId } });
    sue.send({ type: 'input.answer', inputId, text: 'red' });
    expect((await sue.next(({ type }) => type === 'error')).data).toMatchObject({ code: 'not_found' });
    rae.send({ type: 'input.answer', inputId, text: ' ' });
    expect((await rae.next(({ type }) => type === 'error')).data).toMatchObject({ code: 'invalid_field' });
    rae.send({ type: 'input.answer', inputId, text: 'green' });
    const resolved = await rae.next(({ type }) => type === 'input.resolved');
    expect(resolved.data).toMatchObject({ inputId, outcome: 'answered' });
    expect(await rae.next(isReply)).toMatchObject({ data: { text: 'green' } });
    rae.send({ type: 'input.answer', inputId, text: 'blue' });
    const late = ({ type, data }: Frame) => type === 'error' && data?.['code'] === 'input_closed';
    await rae.next(late);
  });
});

describe('other rooms', () => {
  test('are as if they were not there', async () => {
    using hal = await visit('hal');
    hal.say('u_ann', 'm-1', 'let me in');
    expect(await hal.answerTo('m-1')).toMatchObject({ type: 'nack', code: 'session_not_found', retryable: false });
    hal.send({ type: 'subscribe', sessionKey: 'agent:main:webchat:dm:u_ann' });
    expect((await hal.next(({ type }) => type === 'error')).data).toMatchObject({ code: 'session_not_found' });
    hal.send({ type: 'resume', room: 'u_ann', lastSeq: 0 });
    expect(await hal.closed).toBe(4404);
  });

  test('hear all who share them, also those who name their messages alike, and say who spoke', async () => {
    using kim = await visit('kim', { rooms: ['hall'], name: 'Kim' });
    using lea = await visit('lea', { rooms: ['hall'], node: 1 });
    kim.say('hall', '1', 'yes');
    const first = await kim.answerTo('1');
    lea.say('hall', '1', 'yes');
    const second = await lea.answerTo('1');
    expect(second).toMatchObject({ type: 'ack', duplicate: false });
    expect(second['runId']).not.toBe(first['runId']);
    const said = ({ type, data }: Frame) => type === 'message.created' && data?.['role'] === 'user';
    await kim.next(() => kim.frames.filter(said).length === 2);
    expect(kim.frames.filter(said).map(({ data }) => data?.['from'])).toEqual([
      { sub: 'kim', name: 'Kim' },
      { sub: 'lea' },
    ]);
  });

  test('can be shared by those whose tokens name them', async () => {
    using ida = await visit('ida', { rooms: ['lobby', 'u_ida'] });
    using joe = await visit('joe', { rooms: ['lobby'], node: 1 });
    joe.send({ type: 'resume', room: 'lobby' });
    await joe.next(({ type, room }) => type === 'stream.replayed' && room === 'lobby');
    ida.send({ type: 'resume', room: 'lobby' });
    const isTyping = ({ type, data }: Frame) => type === 'turn.activity' && data?.['activity'] === 'typing';
    // told to those of whom the node knows that they read: again until it does, as a page does that is typed in
    const typing = setInterval(() => ida.send({ type: 'typing', room: 'lobby' }), 100);
    const told = await joe.next(isTyping).finally(() => clearInterval(typing));
    expect(told).toMatchObject({ room: 'lobby', data: { by: 'human', active: true } });
    ida.say('lobby', 'm-1', 'hello all');
    expect(await joe.next(isReply)).toMatchObject({ room: 'lobby', data: { text: 'hello all' } });
    // what was said of her typing would have come before this
    await ida.next(isReply);
    expect(ida.frames.filter(isTyping)).toEqual([]);
  });

  test('of another tenant with the same names are others', async () => {
    const key = await cluster.putTenant({ name: 'other', agents: [{ name: 'main', runtime: 'echo' }] });
    const answer = await fetch(`${urlOf()}/v1/client-tokens`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ sub: 'ann' }),
    });
    const { token } = (await answer.json()) as { token: string };
    using other = await ChatClient.connect(urlOf(), { token });
    other.send({ type: 'resume', room: 'u_ann', lastSeq: 0 });
    const { data } = await other.next(({ type }) => type === 'stream.replayed');
    expect(data).toMatchObject({ replayedTo: 0, pending: [] });
  });
});

describe('a socket is refused', () => {
  async function refusal(options: ChatOptions): Promise<string> {
    try {
      using _client = await ChatClient.connect(urlOf(), options);
      return 'open';
    } catch (error) {
      return error instanceof Error ? error.message : 'thrown';
    }
  }

  test('before the upgrade, when its header, ticket or page is not right', async () => {
    const authorization = `Bearer ${await tokenOf('kim')}`;
    const origin = 'https://evil.example';
    expect(await refusal({ headers: { authorization: 'Bearer nonsense' } })).toBe('401');
    expect(await refusal({ query: '?ticket=nonsense' })).toBe('401');
    expect(await refusal({ headers: { authorization, origin } })).toBe('403');
    expect(await refusal({ headers: { origin } })).toBe('403');
    expect(await refusal({ headers: { authorization, origin: PAGE } })).toBe('open');
    expect(await refusal({ headers: { origin: PAGE } })).toBe('open');
    expect(await refusal({ headers: { origin: urlOf() } })).toBe('open');
  });

  test('at its first frame, when a known page is not the page of its account', async () => {
    using client = await ChatClient.connect(urlOf(), { headers: { origin: PAGE } });
    client.send({ type: 'auth', token: await tokenOf('lea', { agentId: 'held' }) });
    expect(await client.closed).toBe(4403);
  });

  test('when its first frame does not say who it is, or says so wrongly', async () => {
    using silent = await ChatClient.connect(urlOf());
    silent.say('u_ann', 'm-1', 'hi');
    expect(await silent.closed).toBe(4401);
    using wrong = await ChatClient.connect(urlOf());
    wrong.send({ type: 'auth', token: 'nonsense' });
    expect(await wrong.closed).toBe(4401);
  });

  test('when nobody says within 5 s who it is', async () => {
    using nobody = await ChatClient.connect(urlOf());
    expect(await nobody.closed).toBe(4408);
  });

  test('at the third frame that is none', async () => {
    using mia = await visit('mia');
    for (const frame of ['{', { type: 'dance' }, { type: 'message', room: 'u_mia' }]) mia.send(frame);
    expect(await mia.closed).toBe(4400);
    expect(mia.frames.filter(({ type }) => type === 'error')).toHaveLength(3);
  });

  test('at a frame over 64 kB', async () => {
    using ned = await visit('ned');
    ned.say('u_ned', 'm-1', 'x'.repeat(70_000));
    expect(await ned.closed).toBe(1009);
  });

  test('when it sends too much at once', async () => {
    using ole = await visit('ole');
    for (let i = 0; i < 2_000; i++) ole.send({ type: 'ping', t: i });
    expect(await ole.closed).toBe(4429);
  });
});

describe('a ticket', () => {
  test('opens a socket once, without any frame', async () => {
    const token = await tokenOf('pia');
    const answer = await fetch(`${urlOf()}/v1/stream-tickets`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    });
    const { ticket } = (await answer.json()) as { ticket: string };
    using pia = await ChatClient.connect(urlOf(1), { query: `?ticket=${ticket}` });
    expect(await pia.next(({ type }) => type === 'auth.ok')).toMatchObject({ sub: 'pia', rooms: ['u_pia'] });
    await expect(ChatClient.connect(urlOf(), { query: `?ticket=${ticket}` })).rejects.toThrow('401');
  });
});

describe('a socket ends', () => {
  test('when its token does', async () => {
    using quinn = await visit('quinn', { ttlSeconds: 2 });
    expect(await quinn.closed).toBe(4401);
    expect(quinn.frames.at(-1)).toMatchObject({ type: 'stream.closing', data: { reason: 'revoked' } });
  });

  test('when its tenant is suspended', async () => {
    const key = await cluster.putTenant({ name: 'late', agents: [{ name: 'main', runtime: 'echo' }] });
    using client = await ChatClient.connect(urlOf(), { token: key });
    await cluster.admin('/admin/v1/tenants/late', { method: 'PATCH', body: { status: 'suspended' } });
    expect(await client.closed).toBe(4403);
  });
});

// the last: a node goes
test('a node that drains closes its sockets with 1012, and their clients miss nothing on the other', async () => {
  const node = cluster.ingress[1];
  const visitors = await Promise.all(Array.from({ length: 12 }, (_, i) => visit(`tom-${i}`, { node: 1 })));
  using stranger = await ChatClient.connect(urlOf(1));
  for (const [i, tom] of visitors.entries()) tom.say(`u_tom-${i}`, 'm-1', 'before you go');
  await Promise.all(visitors.map((tom) => tom.answerTo('m-1')));
  node?.signal('SIGTERM');
  expect(await stranger.closed).toBe(1012);
  expect(new Set(await Promise.all(visitors.map(({ closed }) => closed)))).toEqual(new Set([1012]));
  for (const { frames } of visitors) {
    const { data } = frames.find(({ type }) => type === 'stream.closing') ?? expect.fail('it was not told');
    expect(data).toMatchObject({ reason: 'drain' });
    expect(data?.['reconnectAfterMs']).toBeLessThanOrEqual(30_000);
  }
  const [tom] = visitors;
  const last = tom?.frames.findLast(({ id }) => id !== undefined)?.id;
  using again = await visit('tom-0');
  again.send({ type: 'resume', room: 'u_tom-0', lastSeq: last ?? 0 });
  const told = () => [...(tom?.frames ?? []), ...again.frames];
  await again.next(() => told().some(isReply));
  expect(textsOf(told())).toEqual(['before you go']);
});
