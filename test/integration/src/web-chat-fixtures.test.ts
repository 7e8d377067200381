/** The web chat fixtures over a real socket of the running ingress. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { ChatClient } from './chat-client.fixture.ts';

interface SentFrame {
  readonly type: string;
  readonly room?: string;
  readonly clientId?: string;
  readonly t?: number;
  readonly uploads?: readonly { readonly id: string; readonly name: string; readonly mime: string }[];
}

interface Visitor {
  readonly client: ChatClient;
  readonly token: string;
}

interface Fixture {
  readonly name: string;
  readonly context: { readonly sessionToken: { readonly sub: string; readonly name: string } };
  readonly deliveries: readonly { readonly json: SentFrame }[];
  readonly expect: { readonly outcomes: readonly string[]; readonly events: readonly { readonly text: string }[] };
}

const FOLDER = join(import.meta.dirname, '../../conformance/fixtures/channels/webchat');
const fixtures = readdirSync(FOLDER).map((name): Fixture => JSON.parse(readFileSync(join(FOLDER, name), 'utf8')));
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 1, workers: 1, coordinators: 1, mode: 'inline' });
});
afterAll(() => cluster[Symbol.asyncDispose]());

/** One tenant per fixture: they use the same rooms and ids. */
async function connect({ name, context }: Fixture): Promise<Visitor> {
  const tenant = { name: `t-${name}`, agents: [{ name: 'main', runtime: 'echo' }] };
  const key = await cluster.putTenant({ ...tenant, accounts: [{ name: 'site', agent: 'main', channel: 'webchat' }] });
  const body = { ...context.sessionToken, rooms: ['room-5'] };
  const { json } = await cluster.api('/v1/client-tokens', { body, key });
  return { client: await ChatClient.connect(cluster.ingress[0]?.url ?? '', { token: json.token }), token: json.token };
}

/** The frame with the ids that its uploads get here. */
async function withUploads(frame: SentFrame, token: string): Promise<SentFrame> {
  if (frame.uploads === undefined) return frame;
  const uploads = frame.uploads.map(async (upload) => {
    const answer = await fetch(`${cluster.ingress[0]?.url}/v1/uploads?name=${upload.name}`, {
      ...{ method: 'POST', body: `bytes of ${upload.id}` },
      headers: { authorization: `Bearer ${token}`, 'content-type': upload.mime },
    });
    const { attachmentId } = (await answer.json()) as { attachmentId: string };
    return { ...upload, id: attachmentId };
  });
  return { ...frame, uploads: await Promise.all(uploads) };
}

/** Waits for what the socket says to a frame, in the fixture's words. */
async function outcomeOf(client: ChatClient, frame: SentFrame): Promise<string> {
  const before = client.frames.length;
  client.send(frame);
  const isAnswer = (type: string) => ['ack', 'nack', 'pong', 'stream.open', 'error'].includes(type);
  const answer = await client.next((one) => client.frames.indexOf(one) >= before && isAnswer(one.type));
  // a message to a room that was not joined joins it, and is then acknowledged
  const last =
    frame.type !== 'message' || answer.type !== 'stream.open'
      ? answer
      : await client.next((one) => client.frames.indexOf(one) >= before && ['ack', 'nack'].includes(one.type));
  if (last.type === 'ack') return last['duplicate'] === true ? 'duplicate' : 'message';
  return ['pong', 'stream.open'].includes(last.type) ? `control:${frame.type}` : `refused: ${last.code}`;
}

describe('over a socket', () => {
  test.each(fixtures)('$name', async (fixture) => {
    const { client, token } = await connect(fixture);
    onTestFinished(() => client[Symbol.dispose]());
    const outcomes: string[] = [];
    for (const { json } of fixture.deliveries) outcomes.push(await outcomeOf(client, await withUploads(json, token)));
    expect(outcomes).toEqual(fixture.expect.outcomes);
    const isSaid = (text: string) => (data?: Readonly<Record<string, unknown>>) =>
      data?.['role'] === 'user' && data['text'] === text;
    for (const { text } of fixture.expect.events) await client.next(({ data }) => isSaid(text)(data));
    const said = client.frames.filter(({ type, data }) => type === 'message.created' && data?.['role'] === 'user');
    expect(said).toHaveLength(fixture.expect.events.length);
  });
});
