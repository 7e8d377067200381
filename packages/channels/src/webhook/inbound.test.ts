import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import type { ChannelAccount, ChannelIngress, Parsed, RawRequest, Rejected } from '../channel.ts';
import { webhook } from './webhook.ts';

const NOW_MS = 1_790_000_700_000;
const SECRET = 'route-secret';
const WHSEC = 'whsec_c3RhbmRhcmQtd2ViaG9va3Mtc2VjcmV0LTAx';

const hub = { verify: 'hmac-sha256-header', header: 'X-Hub-Signature-256', prefix: 'sha256=', idHeader: 'X-Id' };
const open = (options: Record<string, unknown>, secret: string = SECRET) =>
  ingressOf({ name: 'deploys', options, secrets: { secret } });

function ingressOf(account: ChannelAccount): ChannelIngress {
  const { ingress } = webhook.open(account);
  if (ingress === null) throw new Error('webhooks come over /hooks');
  return ingress;
}
const macOf = (body: string | Buffer, secret = SECRET) => createHmac('sha256', secret).update(body).digest('hex');

interface Post {
  readonly body: string | Buffer;
  readonly headers: RawRequest['headers'];
  readonly atMs?: number;
}

function receive(ingress: ReturnType<typeof open>, { body, headers, atMs = NOW_MS }: Post): Parsed | Rejected {
  const verdict = ingress.verify({ headers, rawBody: Buffer.from(body), receivedAtMs: atMs });
  return verdict.result === 'rejected' ? verdict : ingress.parse(verdict);
}

const text = (answer: Parsed | Rejected) =>
  answer.result === 'parsed' ? answer.deliveries[0]?.event.text : answer.reason;
const key = (answer: Parsed | Rejected) =>
  answer.result === 'parsed' ? answer.deliveries[0]?.dedupeKey : answer.reason;

describe('signature in a header', () => {
  const ingress = open(hub);
  const post = (body: string, signature: string | undefined) =>
    text(receive(ingress, { body, headers: { 'x-hub-signature-256': signature, 'x-id': '1' } }));

  it('takes the right one, in either case of hex', () => {
    const mac = macOf('{"text":"hi"}');
    expect(post('{"text":"hi"}', `sha256=${mac}`)).toBe('hi');
    expect(post('{"text":"hi"}', `sha256=${mac.toUpperCase()}`)).toBe('hi');
  });

  it('refuses a missing, cut, lengthened, prefixless or foreign one, and a changed body', () => {
    const mac = macOf('{"text":"hi"}');
    const wrong = [undefined, '', 'sha256=', mac, `sha1=${mac}`, `sha256=${mac.slice(2)}`, `sha256=${mac}00`];
    const foreign = [`sha256=${macOf('{"text":"hi"}', 'other')}`, `sha256=${'zz'.repeat(32)}`];
    for (const signature of [...wrong, ...foreign]) expect(post('{"text":"hi"}', signature)).toBe('signature');
    expect(post('{"text":"ho"}', `sha256=${mac}`)).toBe('signature');
  });

  it('is over the raw bytes, not over what they decode to', () => {
    const rawBody = Buffer.from([0x22, 0xff, 0x22]);
    const mac = createHmac('sha256', SECRET).update(rawBody).digest('hex');
    const headers = { 'x-hub-signature-256': `sha256=${mac}` };
    expect(ingress.verify({ headers, rawBody, receivedAtMs: NOW_MS }).result).toBe('verified');
  });

  it('verifies nothing for an account without a secret', () => {
    const bare = ingressOf({ name: 'x', options: hub, secrets: {} });
    const headers = { 'x-hub-signature-256': `sha256=${macOf('{}', '')}` };
    expect(bare.verify({ headers, rawBody: Buffer.from('{}'), receivedAtMs: NOW_MS }).result).toBe('rejected');
  });
});

describe('standard webhooks', () => {
  const ingress = open({}, WHSEC);
  const signed = (atMs: number, body = '{"text":"hi"}') => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(atMs / 1000)),
    'webhook-signature': new Webhook(WHSEC).sign('msg_1', new Date(atMs), body),
  });
  const post = (headers: RawRequest['headers']) => text(receive(ingress, { body: '{"text":"hi"}', headers }));

  it('takes what the library of that name signs', () => {
    expect(post(signed(NOW_MS))).toBe('hi');
  });

  it('takes a plain text as key when it does not say whsec_', () => {
    const headers = { ...signed(NOW_MS) };
    headers['webhook-signature'] = new Webhook(Buffer.from('plain-text'), { format: 'raw' }).sign(
      'msg_1',
      new Date(NOW_MS),
      '{"text":"hi"}',
    );
    expect(text(receive(open({}, 'plain-text'), { body: '{"text":"hi"}', headers }))).toBe('hi');
  });

  it('finds the right one among several, and none among wrong ones', () => {
    const headers = signed(NOW_MS);
    const right = headers['webhook-signature'];
    expect(post({ ...headers, 'webhook-signature': `v1,AAAA v2,x ${right}` })).toBe('hi');
    expect(post({ ...headers, 'webhook-signature': right.replace('v1,', 'v2,') })).toBe('signature');
    expect(post({ ...headers, 'webhook-signature': right.slice(3) })).toBe('signature');
  });

  it('takes 300 s in either direction and calls more stale', () => {
    for (const offSec of [-300, 300]) expect(post(signed(NOW_MS + offSec * 1000))).toBe('hi');
    for (const offSec of [-301, 301]) expect(post(signed(NOW_MS + offSec * 1000))).toBe('stale');
  });

  it('covers id and time by the signature', () => {
    expect(post({ ...signed(NOW_MS), 'webhook-id': 'msg_2' })).toBe('signature');
    expect(post({ ...signed(NOW_MS - 400_000), 'webhook-timestamp': String(NOW_MS / 1000) })).toBe('signature');
    expect(post({ ...signed(NOW_MS), 'webhook-timestamp': `${NOW_MS / 1000}.0` })).toBe('signature');
  });
});

describe('messages', () => {
  const post = (options: Record<string, unknown>, body: string, { id, atMs }: { id?: string; atMs?: number } = {}) =>
    receive(open({ ...hub, ...options }), {
      body,
      headers: { 'x-hub-signature-256': `sha256=${macOf(body)}`, 'x-id': id },
      ...(atMs === undefined ? {} : { atMs }),
    });

  it('fill the template from the body, and never read values as templates', () => {
    const body = JSON.stringify({ a: { b: ['x', { c: 1 }] }, t: '{{a.b.0}}', n: null, ok: true });
    const template = '{{a.b.0}}|{{ a.b.1.c }}|{{a.b.1}}|{{t}}|{{n}}|{{missing.x}}|{{ok}}|{{__proto__}}|{{a.b.length}}';
    expect(text(post({ template }, body))).toBe('x|1|{"c":1}|{{a.b.0}}|||true||2');
  });

  it('are refused when they are no UTF-8: what they decode to is not what was signed', () => {
    const body = Buffer.from([...Buffer.from('{"text":"'), 0xff, ...Buffer.from('"}')]);
    const headers = { 'x-hub-signature-256': `sha256=${macOf(body)}`, 'x-id': '1' };
    expect(text(receive(open(hub), { body, headers }))).toBe('malformed');
  });

  it('are refused when they hold no text or too much', () => {
    expect(text(post({}, '{"other":1}'))).toBe('malformed');
    expect(text(post({}, JSON.stringify({ text: 'ü'.repeat(131_072) })))).toBe('ü'.repeat(131_072));
    expect(text(post({}, JSON.stringify({ text: `${'ü'.repeat(131_072)}x` })))).toBe('too_large');
  });

  it('stay small whatever template and body say', () => {
    const body = JSON.stringify({ a: 'x'.repeat(500_000) });
    expect(text(post({ template: '{{a}}'.repeat(3000) }, body))).toBe('too_large');
    const deep = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    expect(text(post({ template: '{{a}}' }, deep))).toBe('malformed');
  });

  it('are known by the sender’s delivery id', () => {
    expect(key(post({}, '{"text":"a"}', { id: '7' }))).toBe('webhook:deploys:7');
    expect(text(post({}, '{"text":"a"}', { id: 'x'.repeat(256) }))).toBe('malformed');
  });

  it('without an id are one when equal within minutes, and apart later', () => {
    const first = key(post({}, '{"text":"a"}'));
    expect(first).toMatch(/^webhook:deploys:sha256-[0-9a-f]{64}$/);
    expect(key(post({}, '{"text":"a"}', { atMs: NOW_MS + 60_000 }))).toBe(first);
    expect(key(post({}, '{"text":"b"}'))).not.toBe(first);
    expect(key(post({}, '{"text":"a"}', { atMs: NOW_MS + 600_000 }))).not.toBe(first);
  });
});
