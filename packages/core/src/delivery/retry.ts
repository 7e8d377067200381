import type { DeliverySettlement, DueDelivery } from '../ports/delivery.ts';

/** What one attempt to send proved (design §7). */
export type SendOutcome =
  /** The platform took it; `ref` = its own ids, when it gave some. */
  | { readonly result: 'delivered'; readonly ref: string | null }
  /** It stands where its reader finds it, who says later that it was seen: web chat. */
  | { readonly result: 'offered' }
  /** The platform certainly did not take it, and may later. `retryAfterMs`: the wait that it asked for. */
  | { readonly result: 'refused'; readonly code: string; readonly retryAfterMs: number | null }
  /** The platform certainly did not take it and never will. */
  | { readonly result: 'failed'; readonly code: string }
  /** It may have taken it. */
  | { readonly result: 'unknown'; readonly code: string };

export interface SettleSend {
  readonly delivery: Pick<DueDelivery, 'attempt' | 'recovered' | 'finishedAt'>;
  readonly outcome: SendOutcome;
  readonly nowMs: number;
  /** In [0, 1), for the jitter. */
  readonly random: number;
}

const REFUSALS_MAX = 3;
const AGE_MAX_MS = 24 * 60 * 60 * 1000;
/** Waits after the first and the second refusal, when the platform asked for none. */
const WAITS_MS = [30_000, 120_000] as const;
const JITTER = 0.2;

/**
 * Where a delivery goes after one attempt. Only proven refusals are tried again: after 30 s, then 120 s, or the wait that
 * the platform asked for, never less, plus up to a fifth so that many do not come back at once. The third refusal, or an age of
 * 24 h, abandons it. The one resend of an unknown outcome is no refusal and does not count as one.
 */
export function settleSend({ delivery, outcome, nowMs, random }: SettleSend): DeliverySettlement['outcome'] {
  switch (outcome.result) {
    case 'delivered':
      return { state: 'delivered', ref: outcome.ref };
    case 'offered':
      return { state: 'offered' };
    case 'failed':
    case 'unknown':
      return { state: outcome.result, error: { code: outcome.code } };
    case 'refused': {
      const refusals = delivery.attempt - (delivery.recovered ? 1 : 0);
      const waitMs = outcome.retryAfterMs ?? WAITS_MS[refusals - 1] ?? WAITS_MS[1];
      const afterMs = Math.ceil(waitMs * (1 + JITTER * random));
      const ageMs = nowMs - delivery.finishedAt.getTime();
      const isSpent = refusals >= REFUSALS_MAX || ageMs + afterMs > AGE_MAX_MS;
      const error = { code: outcome.code };
      return isSpent ? { state: 'abandoned', error } : { state: 'pending', afterMs, error };
    }
  }
}
