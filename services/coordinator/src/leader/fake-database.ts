import {
  type BootId,
  type Clock,
  type LaneRef,
  type LostTurn,
  RECOVERY_DEFAULTS,
  StoreError,
  type TurnId,
  type TurnVerdict,
} from '@turnkeeper/core';

interface Row {
  beatMs: number;
  isDead: boolean;
}

/** What the leader asks of Postgres, in memory, by a database clock that a test may let jump, and with outages. */
export class FakeDatabase {
  readonly rows = new Map<BootId, Row>();
  readonly turns = new Map<TurnId, { readonly bootId: BootId; isRunning: boolean }>();
  readonly interrupted: TurnId[] = [];
  isAway = false;
  /** As after a failover that lost the lease row: everybody is told that they lead. */
  hasNoLease = false;
  jumpedMs = 0;
  #lease: { holder: BootId; beatMs: number } | null = null;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get nowMs(): number {
    return this.#clock.nowMs() + this.jumpedMs;
  }

  get leader(): BootId | null {
    return this.#lease?.holder ?? null;
  }

  register(bootId: BootId): void {
    this.rows.set(bootId, { beatMs: this.nowMs, isDead: false });
  }

  isDead(bootId: BootId): boolean {
    return this.rows.get(bootId)?.isDead ?? true;
  }

  /** The connection of one process; `stall` holds its answers back until the returned function is called. */
  connect() {
    let held = Promise.resolve();
    const reach = async () => {
      await held;
      if (this.isAway) throw new StoreError({ failure: 'unknown', state: '08006', message: 'the database is away' });
    };
    const through = <Args extends readonly unknown[], T>(work: (...args: Args) => T) => {
      return async (...args: Args): Promise<T> => {
        await reach();
        return work(...args);
      };
    };
    return {
      stall: (): (() => void) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        held = promise;
        return resolve;
      },
      heartbeat: through((bootId: BootId) => this.#beat(bootId)),
      databaseNowMs: through(() => this.nowMs),
      lead: through((_name: string, holder: BootId, leaseMs: number) => this.#lead(holder, leaseMs)),
      resign: through((_name: string, holder: BootId) => {
        if (this.leader === holder) this.#lease = null;
      }),
      declareDead: through((leaseMs: number, expectedMs: number) => this.#declareDead(leaseMs, expectedMs)),
      lostTurns: through(() => this.#lostTurns()),
      interrupt: through((verdicts: readonly TurnVerdict[]) => verdicts.map((verdict) => this.#interrupt(verdict))),
    };
  }

  #beat(bootId: BootId): boolean {
    const row = this.rows.get(bootId);
    if (row === undefined || row.isDead) return false;
    row.beatMs = this.nowMs;
    return true;
  }

  #lead(holder: BootId, leaseMs: number): boolean {
    if (this.hasNoLease) return true;
    if (this.#lease !== null && this.#lease.holder !== holder && this.nowMs - this.#lease.beatMs <= leaseMs)
      return false;
    this.#lease = { holder, beatMs: this.nowMs };
    return true;
  }

  #declareDead(leaseMs: number, expectedMs: number): BootId[] {
    if (Math.abs(this.nowMs - expectedMs) > 1000) return [];
    const dead = [...this.rows].filter(([, row]) => !row.isDead && this.nowMs - row.beatMs > leaseMs);
    for (const [, row] of dead) row.isDead = true;
    return dead.map(([bootId]) => bootId);
  }

  #lostTurns(): LostTurn[] {
    const lost = [...this.turns].filter(([, turn]) => turn.isRunning && this.isDead(turn.bootId));
    return lost.map(([turnId]) => ({ ...LOST, turnId }));
  }

  #interrupt({ lost: { turnId } }: TurnVerdict): boolean {
    const turn = this.turns.get(turnId);
    if (turn?.isRunning !== true) return false;
    turn.isRunning = false;
    this.interrupted.push(turnId);
    return true;
  }
}

const LANE = { slot: 0, tenantId: 'tenant', laneId: 'lane' } as LaneRef;
const LOST: Omit<LostTurn, 'turnId'> = {
  ...{ lane: LANE, crashed: true, lostForMs: 3000, ageMs: 5000, suspended: false, resumePending: null, resumes: 0 },
  ...{ isMachine: false, failures: 0, steps: 0, lastStep: null, limits: RECOVERY_DEFAULTS },
  ...{ bootId: 'boot' as BootId, ledgerEnabled: true, resumesLostAgoMs: [] },
};
