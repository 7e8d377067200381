import {
  AppError,
  type BootId,
  type Clock,
  type DatabaseHealth,
  type Leadership,
  type Logger,
  type OwnershipStore,
  type RepairStore,
} from '@turnkeeper/core';

/** One leader per cluster. */
const LEASE_NAME = 'coordinator';
const LOOK_EVERY_MS = 250;
const CHECK_EVERY_MS = 100;

export interface LeaderLoopOptions {
  readonly bootId: BootId;
  readonly leaseMs: number;
  readonly ownership: Pick<OwnershipStore, 'heartbeat'>;
  readonly repair: Pick<RepairStore, 'lead' | 'resign' | 'databaseNowMs'>;
  readonly health: DatabaseHealth;
  readonly leadership: Leadership;
  /** Told after each look. */
  readonly postgresIsUp: (isUp: boolean) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Leads until the signal aborts. Must never reject. */
  readonly onTerm: (term: AbortSignal) => Promise<void>;
  /** This process was declared dead: it must end. Called once. */
  readonly onDead: (error: AppError) => void;
}

/**
 * Four times a second: writes its own heartbeat, reads the database clock, tries to take or renew the leader's lease. A
 * standby does the same, so that it has proven the database healthy when it takes over. All of the leader's work hangs
 * on the term's signal, which aborts as soon as the lease is refused or may have run out.
 */
export class LeaderLoop {
  readonly #options: LeaderLoopOptions;
  #leading: { readonly term: AbortSignal; readonly ended: Promise<void> } | null = null;
  #isFailing = false;
  #looks = 0;
  #isDead = false;

  constructor(options: LeaderLoopOptions) {
    this.#options = options;
  }

  /** True while the database does not answer. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /** How often it has looked. */
  get looks(): number {
    return this.#looks;
  }

  /** Until the signal aborts; then gives the lease back, and resolves when the work of the term has ended. */
  async run(signal: AbortSignal): Promise<void> {
    const checking = this.#check(signal);
    while (!signal.aborted && !this.#isDead) {
      await this.#look();
      this.#looks++;
      await this.#options.clock.sleep(LOOK_EVERY_MS, signal);
    }
    await checking;
    await this.#resign();
  }

  async #look(): Promise<void> {
    const { health, logger, postgresIsUp } = this.#options;
    try {
      if (!(await this.#sample())) return;
      await this.#lead();
      postgresIsUp(true);
      if (this.#isFailing) logger.info({}, 'the database answers again');
      this.#isFailing = false;
    } catch (error) {
      health.failed();
      postgresIsUp(false);
      if (!this.#isFailing) logger.failed(error, {}, 'the database does not answer; nobody is declared dead');
      this.#isFailing = true;
    }
  }

  /** False when this process was declared dead. @throws StoreError */
  async #sample(): Promise<boolean> {
    const { bootId, clock, health, onDead, ownership, repair } = this.#options;
    const sentMs = clock.monotonicMs();
    const isAlive = await ownership.heartbeat(bootId);
    if (!isAlive) {
      this.#isDead = true;
      this.#options.leadership.resign();
      onDead(new AppError({ code: 'internal', message: 'this process was declared dead and ends; start it again' }));
      return false;
    }
    const readSentMs = clock.monotonicMs();
    const databaseMs = await repair.databaseNowMs();
    const answeredMs = clock.monotonicMs();
    health.sampled({ sentMs, answeredMs, readAtMs: (readSentMs + answeredMs) / 2, databaseMs });
    return true;
  }

  /** @throws StoreError */
  async #lead(): Promise<void> {
    const { bootId, clock, leadership, leaseMs, onTerm, repair } = this.#options;
    const sentMs = clock.monotonicMs();
    leadership.answered(await repair.lead(LEASE_NAME, bootId, leaseMs), sentMs);
    const { term } = leadership;
    if (term === null || term === this.#leading?.term) return;
    // the work of an earlier term ends at its next step; all of it is safe beside the new one
    this.#leading = { term, ended: onTerm(term) };
  }

  async #check(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.#isDead) {
      await this.#options.clock.sleep(CHECK_EVERY_MS, signal);
      this.#options.leadership.check();
    }
  }

  async #resign(): Promise<void> {
    const { bootId, leadership, logger, repair } = this.#options;
    const wasLeading = leadership.term !== null;
    leadership.resign();
    await this.#leading?.ended;
    if (!wasLeading) return;
    try {
      await repair.resign(LEASE_NAME, bootId);
    } catch (error) {
      logger.failed(error, {}, 'the lease was not given back; it runs out by itself');
    }
  }
}
