import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import type { DeliveryStatus } from '../states.ts';

/** Proven refusals after which a delivery is given up. */
const TRIES_MAX = 3;
/** Of a delivery, from its message on. */
export const DELIVERY_AGE_MS_MAX = 24 * 60 * 60 * 1000;
/** Waits after the first and the second refusal, when nobody asked for another. */
const WAITS_MS: readonly number[] = [30_000, 120_000];

/** Why the last try failed, as far as a rule asks. */
export type LastFailure =
  /** The platform asked for this wait. */
  | { readonly kind: 'flood'; readonly waitMs: number }
  /** The way out is known to be broken, and says when it is not. */
  | { readonly kind: 'degraded' }
  /** Nobody will ever read it there. */
  | { readonly kind: 'dead_chat' }
  | { readonly kind: 'other' };

/** A delivery that is not settled, and who looks at it. */
export interface OwedDelivery {
  /** `sweep`: over what others have left; `reconnect`: a way out is back; `timer`: over one's own refused ones. */
  readonly trigger: 'sweep' | 'reconnect' | 'timer';
  /** Of the row, as the looker sees it. */
  readonly owner: 'alive' | 'expired' | 'self';
  readonly ledgerEnabled: boolean;
  /** There is a way out to its platform now. */
  readonly isConnected: boolean;
  readonly state: Exclude<DeliveryStatus, 'offered'>;
  /** Tries that were spent on it again: its first one is not counted. */
  readonly attempts: number;
  readonly ageMs: number;
  readonly sinceTryMs: number;
  readonly failure: LastFailure | null;
  /** What the account wants of an outcome that nobody knows. */
  readonly onUnknown: 'resend' | 'hold';
}

export interface ClaimDecision {
  /** adopt: it is the looker's now and waits; hold: it waits for a person. Only `send` spends a try. */
  readonly action: 'send' | 'abandon' | 'adopt' | 'wait' | 'hold' | 'none';
  readonly reason:
    | 'attempt_reserved'
    | 'backoff'
    | 'dead_chat'
    | 'disabled'
    | 'exhausted'
    | 'final'
    | 'flood_wait'
    | 'not_connected'
    | 'not_degraded'
    | 'not_failed'
    | 'outcome_unknown'
    | 'owner_alive'
    | 'too_old'
    | null;
  /** What its reader is told beside it. `recovered`: it may come twice. */
  readonly notice: 'recovered' | 'reconnected' | 'flood' | null;
  /** Until the next look, for `adopt` and `wait`. */
  readonly waitMs: number | null;
}

/**
 * Whether a delivery may be sent, now or ever (design §7). What was never tried goes plainly; what may have arrived goes
 * with the notice, or waits for a person; what was refused for certain waits longer each time; what is too old, or was
 * refused too often, is given up (source: hermes.md §10).
 */
export function claimOwed(owed: OwedDelivery): ClaimDecision {
  if (!owed.ledgerEnabled) return nothing('disabled');
  if (owed.state === 'delivered' || owed.state === 'abandoned') return nothing('final');
  return owed.trigger === 'sweep' ? claimLeft(owed) : claimOwn(owed);
}

/** What a process that is no more has left behind. */
function claimLeft(owed: OwedDelivery): ClaimDecision {
  const { owner, state, attempts, ageMs, isConnected, failure, sinceTryMs, onUnknown } = owed;
  if (owner !== 'expired') return nothing('owner_alive');
  if (attempts >= TRIES_MAX) return { ...NOTHING, action: 'abandon', reason: 'exhausted' };
  if (ageMs > DELIVERY_AGE_MS_MAX) return { ...NOTHING, action: 'abandon', reason: 'too_old' };
  if (!isConnected) return nothing('not_connected');
  if (state === 'failed' && failure?.kind === 'flood') {
    const leftMs = failure.waitMs - sinceTryMs;
    return leftMs > 0 ? { ...NOTHING, action: 'adopt', reason: 'flood_wait', waitMs: leftMs } : send('flood');
  }
  if (state === 'pending' && attempts === 0) return send(null);
  if (state === 'unknown' && onUnknown === 'hold') return { ...NOTHING, action: 'hold', reason: 'outcome_unknown' };
  return send('recovered');
}

/** What the looker itself was refused. */
function claimOwn({ trigger, owner, state, attempts, sinceTryMs, failure }: OwedDelivery): ClaimDecision {
  if (owner !== 'self') return nothing('owner_alive');
  if (state !== 'failed') return nothing('not_failed');
  if (failure?.kind === 'dead_chat') return nothing('dead_chat');
  if (trigger === 'reconnect') return failure?.kind === 'degraded' ? send('reconnected') : nothing('not_degraded');
  const tierMs = WAITS_MS[attempts];
  if (tierMs === undefined) return nothing('attempt_reserved');
  const leftMs = (failure?.kind === 'flood' ? failure.waitMs : tierMs) - sinceTryMs;
  return leftMs > 0 ? { ...NOTHING, action: 'wait', reason: 'backoff', waitMs: leftMs } : send('reconnected');
}

const NOTHING = { action: 'none', reason: null, notice: null, waitMs: null } as const;

function nothing(reason: NonNullable<ClaimDecision['reason']>): ClaimDecision {
  return { ...NOTHING, reason };
}

function send(notice: ClaimDecision['notice']): ClaimDecision {
  return { ...NOTHING, action: 'send', notice };
}

/** Is a reply owed until its delivery is proven? Answers to commands, and what is not meant to stay, are not. */
export function isLedgered(reply: {
  readonly kind: 'turn' | 'command' | 'ephemeral';
  readonly text: string;
  readonly ledgerEnabled: boolean;
}): boolean {
  return reply.ledgerEnabled && reply.kind === 'turn' && reply.text.trim() !== '';
}

const OFF: ReadonlySet<string> = new Set(['false', 'off', '0', 'no']);

/** Are replies kept until they are proven to have arrived? They are, unless somebody says no in as many words. */
export function isLedgerOn(setting: string | boolean | null): boolean {
  return setting === null || !OFF.has(String(setting).trim().toLowerCase());
}

/** Names what is owed by what it is: said again, it is owed once. 24 hexadecimal digits. */
export function obligationId(sessionKey: string, messageRef: string, content: string): string {
  return bytesToHex(sha256(utf8ToBytes(`${sessionKey}|${messageRef}|${content}`))).slice(0, 24);
}

const SETTLED_DAYS = 7;

/** May the record of a delivery go? Only of one that is over, for good or for ill, and long enough; what is owed stays. */
export function prunesDelivery(state: OwedDelivery['state'], ageDays: number): boolean {
  return (state === 'delivered' || state === 'abandoned') && ageDays > SETTLED_DAYS;
}
