import type { Clock } from '../clock.ts';
import type { AccountId } from '../ids.ts';
import type { DeliveryStore, DueDelivery } from '../ports/delivery.ts';
import type { Logger } from '../ports/runtime.ts';
import { DELIVERY_AGE_MS_MAX } from './ledger.ts';

export interface AccountPausesOptions {
  readonly store: Pick<DeliveryStore, 'pauseAccount' | 'pausedAccounts'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Between two reads of what other workers were asked. */
const READ_MS = 1_000;

/** Moments of the monotonic clock. */
interface Known {
  readonly untilMs: number;
  /** When its row was there for sure; null: the pause is known here alone. */
  readonly storedMs: number | null;
}

/**
 * Accounts whose platform asked for a wait (design §7: a 429 pauses exactly the scope it names). The rows tell, on every
 * worker and after every restart; what is known here of them is read every second, and keeps replies from being taken in hand
 * that could not leave. A row that is gone was lifted by an operator.
 */
export class AccountPauses {
  readonly #options: AccountPausesOptions;
  #known = new Map<AccountId, Known>();
  #isRead = false;
  #isTold = false;

  constructor(options: AccountPausesOptions) {
    this.#options = options;
  }

  /** Reads every second until the signal aborts: a worker without partitions, too, commits and sends. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#read();
      await this.#options.clock.sleep(READ_MS, signal);
    }
  }

  /** Resolves when the rows were read once, or could not be. Never rejects. */
  async known(): Promise<void> {
    if (!this.#isRead) await this.#read();
  }

  /** Never rejects: before a reply is taken in hand its row's pause is asked for again. */
  async #read(): Promise<void> {
    const { store, clock, log } = this.#options;
    const nowMs = clock.monotonicMs();
    try {
      const paused = await store.pausedAccounts();
      [this.#isRead, this.#isTold] = [true, false];
      const known = new Map<AccountId, Known>();
      // what was asked of this worker may not be in the rows, or not in those that were read, and stays as it was asked
      for (const [accountId, own] of this.#known)
        if (this.has(accountId) && (own.storedMs === null || own.storedMs >= nowMs)) known.set(accountId, own);
      for (const { accountId, leftMs } of paused) {
        const { untilMs = 0 } = this.#known.get(accountId) ?? {};
        known.set(accountId, { untilMs: Math.max(untilMs, nowMs + leftMs), storedMs: nowMs });
      }
      this.#known = known;
    } catch (error) {
      if (!this.#isTold) log.failed(error, {}, 'the pauses of accounts could not be read');
      this.#isTold = true;
    }
  }

  /** The platform asked for a wait: of a day at most, when all that is owed has grown too old. Never rejects. */
  async pause({ lane, accountId }: Pick<DueDelivery, 'lane' | 'accountId'>, askedMs: number): Promise<void> {
    const { store, clock, log } = this.#options;
    const waitMs = Math.min(askedMs, DELIVERY_AGE_MS_MAX);
    const untilMs = clock.monotonicMs() + waitMs;
    const knownMs = this.#known.get(accountId)?.untilMs ?? 0;
    // many replies that were under way are refused alike
    if (waitMs <= 0 || untilMs < knownMs + READ_MS) return;
    this.#known.set(accountId, { untilMs, storedMs: null });
    try {
      await store.pauseAccount(lane.tenantId, accountId, waitMs);
      if (this.#known.get(accountId)?.untilMs === untilMs)
        this.#known.set(accountId, { untilMs, storedMs: clock.monotonicMs() });
      log.warn({ tenantId: lane.tenantId, code: 'rate_limited' }, 'a platform asked for a wait: its account is paused');
    } catch (error) {
      log.failed(error, { tenantId: lane.tenantId }, 'the pause of an account is known to this worker alone');
    }
  }

  has(accountId: AccountId): boolean {
    return this.#leftMsOf(accountId) > 0;
  }

  /** Those that are paused now. */
  accounts(): AccountId[] {
    return [...this.#known.keys()].filter((accountId) => this.has(accountId));
  }

  /** Until the first of them is over; null: none is. */
  shortestMs(): number | null {
    const left = this.accounts().map((accountId) => this.#leftMsOf(accountId));
    return left.reduce<number | null>((least, leftMs) => Math.min(least ?? leftMs, leftMs), null);
  }

  /** Until the last of them is over; 0: none is. */
  longestMs(): number {
    return this.accounts().reduce((most, accountId) => Math.max(most, this.#leftMsOf(accountId)), 0);
  }

  #leftMsOf(accountId: AccountId): number {
    return (this.#known.get(accountId)?.untilMs ?? 0) - this.#options.clock.monotonicMs();
  }
}
