import type { DeliverySettlement, DueDelivery } from '../ports/delivery.ts';
import { claimOwed, DELIVERY_AGE_MS_MAX } from './ledger.ts';

/** What one attempt to send proved (design §7). */
export type SendOutcome =
  /** The platform took it; `ref` = its own ids, when it gave some. */
  | { readonly result: 'delivered'; readonly ref: string | null }
  /** It stands where its reader finds it, who says later that it was seen: web chat. */
  | { readonly result: 'offered' }
  /**
   * The platform certainly did not take it, and may later. `retryAfterMs`: the wait that it asked for; `scope`: of all that
   * leaves through the account, not of this message alone.
   */
  | {
      readonly result: 'refused';
      readonly code: string;
      readonly retryAfterMs: number | null;
      readonly scope?: 'account';
    }
  /** The platform certainly did not take it and never will. */
  | { readonly result: 'failed'; readonly code: string }
  /** It may have taken it. */
  | { readonly result: 'unknown'; readonly code: string };

export interface SettleSend {
  readonly delivery: Pick<DueDelivery, 'attempt' | 'recovered' | 'finishedAt'>;
  readonly outcome: SendOutcome;
  /** Of the account: without it nothing is sent twice. */
  readonly ledgerEnabled: boolean;
  readonly nowMs: number;
  /** In [0, 1), for the jitter. */
  readonly random: number;
}

const JITTER = 0.2;

/**
 * Where a delivery goes after one attempt. Only proven refusals are tried again: after 30 s, then 120 s, or the wait that
 * the platform asked for, never less, plus up to a fifth so that many do not come back at once. The third refusal, or an age of
 * 24 h, abandons it; without a ledger the first refusal does. The one resend of an unknown outcome is no refusal and does not count as one.
 */
export function settleSend({ delivery, outcome, ...now }: SettleSend): DeliverySettlement['outcome'] {
  switch (outcome.result) {
    case 'delivered':
      return { state: 'delivered', ref: outcome.ref };
    case 'offered':
      return { state: 'offered' };
    case 'failed':
    case 'unknown':
      return { state: outcome.result, error: { code: outcome.code } };
    case 'refused':
      return afterRefusal(delivery, outcome, now);
  }
}

function afterRefusal(
  { attempt, recovered, finishedAt }: SettleSend['delivery'],
  { code, retryAfterMs }: Extract<SendOutcome, { readonly result: 'refused' }>,
  { ledgerEnabled, nowMs, random }: Omit<SettleSend, 'delivery' | 'outcome'>,
): DeliverySettlement['outcome'] {
  const ageMs = nowMs - finishedAt.getTime();
  const { waitMs, action } = claimOwed({
    ...{
      trigger: 'timer',
      owner: 'self',
      ledgerEnabled,
      isConnected: true,
      state: 'failed',
      onUnknown: 'resend',
    },
    ...{ attempts: attempt - 1 - (recovered ? 1 : 0), ageMs, sinceTryMs: 0 },
    failure: retryAfterMs === null ? { kind: 'other' } : { kind: 'flood', waitMs: retryAfterMs },
  });
  const error = { code };
  const afterMs = Math.ceil((waitMs ?? 0) * (1 + JITTER * random));
  const isSpent = action === 'none' || ageMs + afterMs > DELIVERY_AGE_MS_MAX;
  return isSpent ? { state: 'abandoned', error } : { state: 'pending', afterMs, error };
}
