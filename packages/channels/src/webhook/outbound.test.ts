import { AppError, formatId } from '@turnkeeper/core';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import type { HttpSender, OutboundDelivery } from '../channel.ts';
import { webhook } from './webhook.ts';

const NOW_MS = 1_790_000_700_000;
const uuid = (last: number) => `01990000-0000-7000-8000-00000000000${last}`;
const delivery = {
  messageId: uuid(1),
  attempt: 2,
  recovered: true,
  runId: uuid(2),
  turnId: uuid(3),
  sessionKey: 'agent:main:webhook:dm:x',
  seq: '12',
  startedAt: new Date(NOW_MS - 2000),
  finishedAt: new Date(NOW_MS - 1000),
  body: { text: 'answer ü' },
} as OutboundDelivery;

type Request = Parameters<HttpSender['send']>[0];

async function send(
  answer: { status: number; headers?: Record<string, string> } | Error,
  secrets: Record<string, string> = { secret: 'whsec_c2VjcmV0' },
  body: OutboundDelivery['body'] = delivery.body,
) {
  const requests: Request[] = [];
  const http: HttpSender = {
    send: (request) => {
      requests.push(request);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve({ headers: {}, ...answer });
    },
  };
  const { egress } = webhook.open({
    name: 'x',
    options: { verify: 'standard-webhooks', replyUrl: 'https://bot.example/in' },
    secrets,
  });
  const outcome = await egress?.send(
    { ...delivery, body },
    { http, nowMs: NOW_MS, signal: new AbortController().signal },
  );
  return { outcome, request: requests[0] as Request };
}

function failure(kind: string, facts: { mayHaveArrived: boolean; code?: 'egress_blocked' }): Error {
  const { code = 'agent_unreachable', mayHaveArrived } = facts;
  const error = new AppError({ code, retryable: code === 'agent_unreachable', message: kind });
  return Object.assign(error, { kind, mayHaveArrived });
}

describe('a reply', () => {
  it('says how many answers led to it', async () => {
    const hopsOf = async (body: OutboundDelivery['body']) =>
      (await send({ status: 200 }, undefined, body)).request.headers['turnkeeper-hops'];
    expect(await hopsOf({ text: 'x' })).toBe('1');
    expect(await hopsOf({ text: 'x', hops: 7 })).toBe('7');
  });

  it('names its files, and where they are fetched', async () => {
    const file = { kind: 'image', ref: 'att_1', name: 'pier.png', mime: 'image/png', size: 3 };
    const { request } = await send({ status: 200 }, undefined, { text: '', attachments: [file, 'of other times'] });
    expect(JSON.parse(request.body).attachments).toEqual([{ ...file, path: '/v1/attachments/att_1' }]);
  });

  it('is one POST with the fields of the contract, whatever the attempt', async () => {
    const { request } = await send({ status: 200 });
    expect(request.url).toBe('https://bot.example/in');
    expect(JSON.parse(request.body)).toEqual({
      deliveryId: formatId('dlv', uuid(1)),
      attempt: 2,
      recovered: true,
      runId: formatId('run', uuid(2)),
      turnId: formatId('trn', uuid(3)),
      sessionKey: 'agent:main:webhook:dm:x',
      seq: 12,
      startedAt: new Date(NOW_MS - 2000).toISOString(),
      finishedAt: new Date(NOW_MS - 1000).toISOString(),
      text: 'answer ü',
    });
    expect(request.headers['webhook-id']).toBe(formatId('dlv', uuid(1)));
  });

  it.each([
    ['the account’s secret', { secret: 'whsec_c2VjcmV0' }, new Webhook('whsec_c2VjcmV0')],
    ['replySecret before it', { secret: 'x', replySecret: 'whsec_cmVwbHk=' }, new Webhook('whsec_cmVwbHk=')],
    ['plain text', { secret: 'plain' }, new Webhook(Buffer.from('plain'), { format: 'raw' })],
  ])('is signed with %s', async (_, secrets, witness) => {
    const { request } = await send({ status: 200 }, secrets);
    expect(request.headers['webhook-timestamp']).toBe(String(NOW_MS / 1000));
    expect(request.headers['webhook-signature']).toBe(
      witness.sign(formatId('dlv', uuid(1)), new Date(NOW_MS), request.body),
    );
  });

  it('cannot be sent by an account without an address', () => {
    expect(
      webhook.open({ name: 'x', options: { verify: 'standard-webhooks' }, secrets: { secret: 'x' } }).egress,
    ).toBeNull();
  });
});

describe('what an answer proves', () => {
  it.each([
    [200, {}, { result: 'delivered', ref: null }],
    [204, {}, { result: 'delivered', ref: null }],
    [429, {}, { result: 'refused', code: 'http_429', retryAfterMs: 60_000, scope: 'account' }],
    [429, { 'retry-after': '7' }, { result: 'refused', code: 'http_429', retryAfterMs: 7000, scope: 'account' }],
    [503, {}, { result: 'refused', code: 'http_503', retryAfterMs: null }],
    [
      503,
      { 'retry-after': new Date(NOW_MS + 9000).toUTCString() },
      { result: 'refused', code: 'http_503', retryAfterMs: 9000 },
    ],
    [503, { 'retry-after': new Date(0).toUTCString() }, { result: 'refused', code: 'http_503', retryAfterMs: null }],
    [503, { 'retry-after': '0' }, { result: 'refused', code: 'http_503', retryAfterMs: null }],
    [429, { 'retry-after': '0' }, { result: 'refused', code: 'http_429', retryAfterMs: 60_000, scope: 'account' }],
    [429, { 'retry-after': '-5' }, { result: 'refused', code: 'http_429', retryAfterMs: 60_000, scope: 'account' }],
    [503, { 'retry-after': 'soon' }, { result: 'refused', code: 'http_503', retryAfterMs: null }],
    [400, {}, { result: 'failed', code: 'http_400' }],
    [410, {}, { result: 'failed', code: 'http_410' }],
    [302, {}, { result: 'failed', code: 'http_302' }],
    [500, {}, { result: 'unknown', code: 'http_500' }],
    [502, {}, { result: 'unknown', code: 'http_502' }],
  ])('%i %o', async (status, headers, outcome) => {
    expect((await send({ status, headers })).outcome).toEqual(outcome);
  });
});

describe('what a failure proves', () => {
  it('is nothing once something may have arrived', async () => {
    const lost = await send(failure('timeout', { mayHaveArrived: true }));
    expect(lost.outcome).toEqual({ result: 'unknown', code: 'timeout' });
  });

  it('is a refusal when no connection was made, and one for good when the address is not allowed', async () => {
    const refused = await send(failure('connect', { mayHaveArrived: false }));
    expect(refused.outcome).toEqual({ result: 'refused', code: 'connect', retryAfterMs: null });
    const blocked = await send(failure('blocked', { mayHaveArrived: false, code: 'egress_blocked' }));
    expect(blocked.outcome).toEqual({ result: 'failed', code: 'egress_blocked' });
  });

  it('is not guessed from an error that says nothing about it', async () => {
    await expect(send(new TypeError('bug'))).rejects.toThrow('bug');
  });
});
