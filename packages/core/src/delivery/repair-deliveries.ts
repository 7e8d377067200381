import type { LaneRef } from '../ids.ts';
import type { RepairStore, UnknownSend, UnknownVerdict } from '../ports/repair.ts';
import { claimOwed, DELIVERY_AGE_MS_MAX } from './ledger.ts';

export interface DeliveryRepairs {
  /** Sends of lost processes whose outcome became unknown. */
  readonly unknown: number;
  readonly held: number;
  /** Are to be sent again, marked. */
  readonly resent: readonly LaneRef[];
  /** Were given up: their conversations go on. */
  readonly abandoned: readonly LaneRef[];
}

/**
 * What becomes of sends whose outcome nobody knows, at most `limit`: sent once more with the notice or, where the account
 * says `hold`, kept for a person with all that stands behind it, and given up when a day has passed; given up at once where
 * the account keeps no ledger. @throws StoreError
 */
export async function repairDeliveries(
  repair: Pick<RepairStore, 'lostSends' | 'unknownSends' | 'decideUnknown'>,
  limit: number,
): Promise<DeliveryRepairs> {
  const unknown = await repair.lostSends(limit);
  const verdicts = (await repair.unknownSends(limit)).map(unknownVerdictOf);
  const written = verdicts.length === 0 ? [] : await repair.decideUnknown(verdicts);
  const done = verdicts.filter((_, i) => written[i] === true);
  const lanesOf = (verdict: UnknownVerdict['verdict']) =>
    done.filter((decided) => decided.verdict === verdict).map(({ send }) => send.lane);
  return { unknown, held: lanesOf('hold').length, resent: lanesOf('resend'), abandoned: lanesOf('abandon') };
}

/** @param send whose outcome is unknown, and not yet decided on */
function unknownVerdictOf(send: UnknownSend): UnknownVerdict {
  if (send.held) return { send, verdict: 'abandon', holdMs: null, error: 'held_too_long' };
  const { action, reason } = claimOwed({
    ...{
      trigger: 'sweep',
      owner: 'expired',
      ledgerEnabled: send.ledgerEnabled,
      isConnected: true,
      state: 'unknown',
      failure: null,
    },
    // each try before this one was refused for certain
    ...{ attempts: send.attempt - 1, ageMs: send.ageMs, sinceTryMs: send.sinceMs, onUnknown: send.onUnknown },
  });
  if (action === 'hold') return { send, verdict: 'hold', holdMs: DELIVERY_AGE_MS_MAX - send.ageMs, error: null };
  if (action === 'none') return { send, verdict: 'abandon', holdMs: null, error: 'ledger_off' };
  if (action === 'abandon') return { send, verdict: 'abandon', holdMs: null, error: reason };
  return { send, verdict: 'resend', holdMs: null, error: null };
}
