import { AppError, formatId, HOPS_HEADER, type SendOutcome } from '@turnkeeper/core';
import { z } from 'zod';
import type { ChannelEgress, OutboundDelivery, SendContext, SendFailure } from '../channel.ts';
import { signContent } from './standard-webhooks.ts';

export interface ReplyAddress {
  readonly url: string;
  readonly key: Uint8Array;
}

const SEND_TIMEOUT_MS = 10_000;
/** A refusal for rate without a wait of its own. */
const RATE_WAIT_MS = 60_000;

/**
 * Replies as signed POSTs (surface §3). `webhook-id` is the delivery's id, the same for every attempt, so that a receiver
 * can drop what it has; `recovered` in the body is this channel's notice, the text is never changed.
 */
export function webhookEgress(address: ReplyAddress): ChannelEgress {
  return { send: (delivery, context) => send(address, delivery, context) };
}

async function send(
  { url, key }: ReplyAddress,
  delivery: OutboundDelivery,
  context: SendContext,
): Promise<SendOutcome> {
  const id = formatId('dlv', delivery.messageId);
  const timestamp = String(Math.floor(context.nowMs / 1000));
  const body = JSON.stringify(bodyOf(id, delivery));
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    [HOPS_HEADER]: String(delivery.body.hops ?? 1),
    'webhook-timestamp': timestamp,
    'webhook-signature': signContent(key, { id, timestamp, body }),
  };
  try {
    const request = { url, headers, body, timeoutMs: SEND_TIMEOUT_MS, signal: context.signal };
    const { status, headers: answered } = await context.http.send(request);
    return outcomeOfStatus(status, answered['retry-after'], context.nowMs);
  } catch (error) {
    return outcomeOfFailure(error);
  }
}

function bodyOf(deliveryId: string, delivery: OutboundDelivery) {
  const { attempt, recovered, runId, turnId, sessionKey, seq, startedAt, finishedAt } = delivery;
  return {
    deliveryId,
    attempt,
    recovered,
    runId: runId && formatId('run', runId),
    turnId: turnId && formatId('trn', turnId),
    sessionKey,
    seq: Number(seq),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt.toISOString(),
    text: delivery.body.text,
    ...filesOf(delivery.body.attachments),
  };
}

const fileShape = z.object({
  kind: z.string().optional(),
  ref: z.string(),
  name: z.string().optional(),
  mime: z.string().optional(),
  size: z.number().optional(),
});

/**
 * The files that go with it, each with the path at which a receiver fetches it from its Turnkeeper, with a key of the tenant
 * (`runs:read`): an address of its own would let in whoever reads it. Left out when there are none.
 */
function filesOf(attachments: OutboundDelivery['body']['attachments'] = []) {
  const files = attachments.flatMap((one) => fileShape.safeParse(one).data ?? []);
  const fetched = files.map((file) => ({ ...file, path: `/v1/attachments/${encodeURIComponent(file.ref)}` }));
  return fetched.length === 0 ? {} : { attachments: fetched };
}

/** 2xx delivered; 429 and 503 did not take it and may later; other 5xx may have; every other answer is a refusal for good. */
function outcomeOfStatus(status: number, retryAfter: string | undefined, nowMs: number): SendOutcome {
  if (status >= 200 && status < 300) return { result: 'delivered', ref: null };
  const code = `http_${status}`;
  if (status === 429 || status === 503) {
    const retryAfterMs = waitOf(retryAfter, nowMs) ?? (status === 429 ? RATE_WAIT_MS : null);
    // who sends too much is told so; who cannot serve one may serve the next
    return { result: 'refused', code, retryAfterMs, ...(status === 429 ? { scope: 'account' } : {}) };
  }
  return { result: status >= 500 ? 'unknown' : 'failed', code };
}

/**
 * Seconds, or a date (RFC 9110); null when it is neither, or asks for no wait: limiters round down to 0, and three tries
 * at once would be three refusals, and the end of the reply.
 */
function waitOf(retryAfter: string | undefined, nowMs: number): number | null {
  if (retryAfter === undefined) return null;
  const waitMs = /^-?\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - nowMs;
  return waitMs > 0 ? waitMs : null;
}

function outcomeOfFailure(error: unknown): SendOutcome {
  if (!isSendFailure(error)) throw error;
  if (error.mayHaveArrived) return { result: 'unknown', code: error.kind };
  if (error.retryable) return { result: 'refused', code: error.kind, retryAfterMs: null };
  return { result: 'failed', code: error.code };
}

function isSendFailure(error: unknown): error is SendFailure {
  return error instanceof AppError && 'mayHaveArrived' in error && 'kind' in error;
}
