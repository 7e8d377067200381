import { isUtf8 } from 'node:buffer';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { AppError, formatId, type HttpErrorCode } from '@turnkeeper/core';
import type { ChannelIngress, InboundDelivery, Parsed, RawRequest, Rejected, Verified } from '../channel.ts';
import type { WebhookOptions } from './options.ts';
import { isSignedBy, keyOfSecret } from './standard-webhooks.ts';
import { renderTemplate } from './template.ts';

export interface InboundAccount {
  readonly name: string;
  readonly options: WebhookOptions;
  /** Undefined: nothing can be verified. */
  readonly secret: string | undefined;
}

const TEXT_BYTES_MAX = 256 * 1024;
const DELIVERY_ID_LENGTH_MAX = 255;
/** Equal bodies without a delivery id are one message when they come in the same such stretch of time. */
const EQUAL_BODY_WINDOW_MS = 5 * 60_000;

/** The inbound side of one account: one chat per account, which is also its sender. */
export function webhookIngress(account: InboundAccount): ChannelIngress {
  return {
    verify: (request) => verify(account, request),
    parse: (verified) => parse(account, verified),
    reply: ({ status, eventId }) => ({
      status: status === 'accepted' ? 202 : 200,
      body: { status, runId: formatId('run', eventId), eventId: formatId('evt', eventId) },
    }),
  };
}

function verify({ options, secret }: InboundAccount, request: RawRequest): Verified | Rejected {
  if (secret === undefined) return rejected('signature', 'this account has no secret to verify with');
  const verdict =
    options.verify === 'standard-webhooks'
      ? verifyStandard(options, secret, request)
      : verifyHeader(options, secret, request);
  if (verdict.result === 'rejected') return verdict;
  if ((verdict.deliveryId?.length ?? 0) <= DELIVERY_ID_LENGTH_MAX) return verdict;
  return rejected('malformed', `a delivery id has at most ${DELIVERY_ID_LENGTH_MAX} characters`);
}

type Options<Verify> = Extract<WebhookOptions, { verify: Verify }>;

function verifyStandard(
  { toleranceSec }: Options<'standard-webhooks'>,
  secret: string,
  request: RawRequest,
): Verified | Rejected {
  const id = headerOf(request, 'webhook-id');
  const timestamp = headerOf(request, 'webhook-timestamp');
  const signatures = headerOf(request, 'webhook-signature');
  if (signatures === '') return rejected('signature', 'the header webhook-signature is missing');
  const key = keyOfSecret(secret);
  const isSound = id !== '' && /^\d{1,12}$/.test(timestamp) && key !== null;
  if (!isSound || !isSignedBy(key, { id, timestamp, body: request.rawBody }, signatures)) {
    return rejected('signature', 'no signature in webhook-signature is right');
  }
  const offMs = Math.abs(request.receivedAtMs - Number(timestamp) * 1000);
  if (offMs > toleranceSec * 1000) return rejected('stale', `webhook-timestamp is more than ${toleranceSec} s off`);
  return verified(request, id);
}

function verifyHeader(
  { header, prefix, idHeader }: Options<'hmac-sha256-header'>,
  secret: string,
  request: RawRequest,
): Verified | Rejected {
  const given = headerOf(request, header);
  if (given === '') return rejected('signature', `the header ${header} is missing`);
  const expected = createHmac('sha256', secret).update(request.rawBody).digest();
  const hex = given.startsWith(prefix) ? given.slice(prefix.length) : '';
  // Buffer.from stops at what is no hex, so the length says whether all of it was
  const mac = Buffer.from(hex, 'hex');
  const isRight =
    hex.length === expected.length * 2 && mac.length === expected.length && timingSafeEqual(mac, expected);
  if (!isRight) return rejected('signature', `the signature in ${header} is wrong`);
  return verified(request, idHeader === undefined ? null : headerOf(request, idHeader) || null);
}

function parse(account: InboundAccount, { rawBody, receivedAtMs, deliveryId }: Verified): Parsed | Rejected {
  const text = textOf(account.options.template, rawBody);
  if (text === null) return rejected('malformed', 'the body is no JSON, or is nested too deeply');
  if (text.trim() === '') return rejected('malformed', 'the template finds no text in this body', 'invalid_field');
  if (Buffer.byteLength(text) > TEXT_BYTES_MAX) {
    return rejected('too_large', `the text would have more than ${TEXT_BYTES_MAX} bytes`);
  }
  const id = deliveryId ?? equalBodyId(rawBody, receivedAtMs);
  const chat = `webhook:${account.name}`;
  const delivery: InboundDelivery = {
    dedupeKey: `${chat}:${id}`,
    event: {
      platform: 'webhook',
      chatType: 'dm',
      chatId: chat,
      threadId: null,
      userId: chat,
      userIdAlt: null,
      userName: account.name,
      messageId: deliveryId,
      text,
      attachments: [],
      isCommand: false,
      mentionsBot: false,
      ...(account.options.isBot === true && { isBot: true }),
    },
  };
  return { result: 'parsed', deliveries: [delivery] };
}

function textOf(template: string, rawBody: Uint8Array): string | null {
  // decoded anyway it would be other words than were signed
  if (!isUtf8(rawBody)) return null;
  try {
    const json: unknown = JSON.parse(Buffer.from(rawBody).toString('utf8'));
    return renderTemplate(template, json, TEXT_BYTES_MAX);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null;
    throw error;
  }
}

function equalBodyId(rawBody: Uint8Array, receivedAtMs: number): string {
  const stretch = Math.floor(receivedAtMs / EQUAL_BODY_WINDOW_MS);
  return `sha256-${createHash('sha256').update(`${stretch}.`).update(rawBody).digest('hex')}`;
}

function headerOf(request: RawRequest, name: string): string {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
}

function verified({ rawBody, receivedAtMs }: RawRequest, deliveryId: string | null): Verified {
  return { result: 'verified', rawBody, receivedAtMs, deliveryId };
}

const CODES: Readonly<Record<Rejected['reason'], HttpErrorCode>> = {
  signature: 'signature_invalid',
  stale: 'signature_stale',
  malformed: 'invalid_json',
  too_large: 'body_too_large',
};

function rejected(reason: Rejected['reason'], message: string, code: HttpErrorCode = CODES[reason]): Rejected {
  return { result: 'rejected', reason, error: new AppError({ code, message }) };
}
