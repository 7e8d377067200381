import type { Clock } from '../clock.ts';
import type { LaneId, LaneRef, TenantId, TurnId } from '../ids.ts';
import { ClaimedOrds } from './claimed-ords.ts';
import { type Linked, LinkedQueue } from './linked-queue.ts';

export interface SchedulerOptions {
  readonly clock: Clock;
  /** Lanes that may hold a turn slot at once. */
  readonly slotsMax: number;
  /**
   * Slots that a tenant may hold here, by its limit and what other workers use. Never above three quarters of
   * `slotsMax`, so that a tenant that takes all it can leaves free slots for the next one that comes.
   */
  readonly capOf: (tenantId: TenantId) => number;
  /** Entries in all; a wake-up above it is dropped, the owner's scan brings the lane again. */
  readonly lanesMax: number;
  /** A lane gives its slot away after this many turns, or milliseconds, when others wait for one. */
  readonly slice: { readonly turns: number; readonly ms: number };
  /** How long a lane waits that a rival holds, unless a wake-up names it first. */
  readonly deferMs: number;
  /** How long a lane that has nothing left is kept in hand, with its lock, for its next event; 0: not at all. */
  readonly lingerMs: number;
}

/** Bounds what a hand-over or a drain releases at once. */
const LINGERING_MAX = 4096;

export type LaneState = 'waiting' | 'claiming' | 'running' | 'lingering' | 'releasing';
export type WakeOutcome = 'added' | 'known' | 'served' | 'full';

/**
 * A lane that has, or may have, work. Who serves it may set `dirty`, `isLocked` and `unclearTurnId`; all else changes
 * through the scheduler.
 */
export class LaneEntry implements Linked<LaneEntry> {
  readonly lane: LaneRef;
  readonly tenant: TenantShare;
  state: LaneState = 'waiting';
  /** A wake-up came since the last statement whose answer may mean "nothing more" was sent. */
  dirty = false;
  /** Its lock was taken and is kept alive since: nobody has to ask for it. */
  isLocked = false;
  /** Since when it could have been picked, monotonic milliseconds. */
  readyAtMs = 0;
  sliceTurns = 0;
  sliceStartMs = 0;
  /** A claim of this turn got no answer: the next one asks with the same id. */
  unclearTurnId: TurnId | null = null;
  previous: LaneEntry | null = null;
  next: LaneEntry | null = null;
  queue: Linked<LaneEntry>['queue'] = null;

  constructor(lane: LaneRef, tenant: TenantShare) {
    this.lane = lane;
    this.tenant = tenant;
  }
}

/** A tenant's lanes that are ready, and what it uses. It stands in the ring while it may take a slot. */
class TenantShare implements Linked<TenantShare> {
  readonly tenantId: TenantId;
  readonly ready = new LinkedQueue<LaneEntry>();
  slotsUsed = 0;
  lanes = 0;
  previous: TenantShare | null = null;
  next: TenantShare | null = null;
  queue: Linked<TenantShare>['queue'] = null;

  constructor(tenantId: TenantId) {
    this.tenantId = tenantId;
  }
}

/**
 * Which lane of this worker runs next: round robin over tenants, then over a tenant's lanes, within slots.
 *
 * ```
 *  wake ─► waiting ─next─► claiming ─running─► running ─leave─► releasing ─┬─requeue─► waiting (last of its tenant)
 *             ▲  (deferred: not before …)│ ▲                 │     ▲   ▲    └─drop───► gone
 *             ├──────defer───────────────┘ └─────continue────┤     │   │
 *             │                          └─────────leave─────┼─────┘   │ lingerOver, takeLocked
 *             └──────wake────────────────────── lingering ◄──┴─linger  │
 *                                                   └──────────────────┘
 * ```
 * A slot is held from `next` to `leave`, `linger`, `defer` or `drop`. A wake-up for a known lane only marks it dirty, so a lane
 * has one entry, and one claim, at a time. Nobody forgets a dirty lane: whoever ends a step tests `dirty` and moves
 * the entry in one synchronous block. Lanes that wait cost memory alone: no timer, lock or connection.
 * Every call is O(1) but for `capsChanged`, `takeLocked`, `takeWaiting`, `withLock`, `slotsByTenant` and `snapshot`.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #tenantSlotsMax: number;
  readonly #claimed = new ClaimedOrds(65_536);
  readonly #entries = new Map<LaneId, LaneEntry>();
  readonly #tenants = new Map<TenantId, TenantShare>();
  /** Tenants with a ready lane and a slot to take, in turn. */
  readonly #ring = new LinkedQueue<TenantShare>();
  /** Tenants with a ready lane that use all they may. */
  readonly #capped = new LinkedQueue<TenantShare>();
  /** Deferred lanes; all wait equally long, so the order of arrival is the order of time. */
  readonly #deferred = new LinkedQueue<LaneEntry>();
  /** Lanes kept in hand for their next event, in order of time too. */
  readonly #lingering = new LinkedQueue<LaneEntry>();
  #slotsUsed = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#tenantSlotsMax = Math.max(1, Math.floor(options.slotsMax * 0.75));
  }

  /** A lane has work, up to event `ord` as far as the sender knows; null = look anyway. */
  wake(lane: LaneRef, ord: string | null): WakeOutcome {
    if (ord !== null && this.#claimed.has(lane.laneId, ord)) return 'served';
    const known = this.#entries.get(lane.laneId);
    if (known !== undefined) {
      known.dirty = true;
      if (known.queue === this.#deferred || known.queue === this.#lingering) this.#makeReady(known);
      return 'known';
    }
    if (this.#entries.size >= this.#options.lanesMax) return 'full';
    const entry = new LaneEntry(lane, this.#tenantOf(lane.tenantId));
    entry.tenant.lanes++;
    this.#entries.set(lane.laneId, entry);
    this.#makeReady(entry);
    return 'added';
  }

  has(laneId: LaneId): boolean {
    return this.#entries.has(laneId);
  }

  /** A turn of the lane was claimed here, and its answer is not stored yet. */
  isRunning(laneId: LaneId): boolean {
    return this.#entries.get(laneId)?.state === 'running';
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Up to `max` lanes that may be claimed now; each takes a slot. */
  next(max: number): LaneEntry[] {
    const picked: LaneEntry[] = [];
    const nowMs = this.#options.clock.monotonicMs();
    while (picked.length < max && this.#slotsUsed < this.#options.slotsMax) {
      const tenant = this.#ring.shift();
      if (tenant === null) break;
      const entry = this.#mayTake(tenant) ? tenant.ready.shift() : null;
      if (entry !== null) {
        entry.state = 'claiming';
        entry.sliceTurns = 0;
        entry.sliceStartMs = nowMs;
        tenant.slotsUsed++;
        this.#slotsUsed++;
        picked.push(entry);
      }
      this.#place(tenant);
    }
    return picked;
  }

  /** The claim succeeded with these events. */
  running(entry: LaneEntry, ords: readonly string[]): void {
    entry.state = 'running';
    entry.sliceTurns++;
    for (const ord of ords) this.#claimed.add(entry.lane.laneId, ord);
  }

  /** The next turn of the same slice: slot and lock are kept. */
  continue(entry: LaneEntry): void {
    entry.state = 'claiming';
  }

  /** These events are queued again: a wake-up that names them is news. */
  unclaimed(ords: readonly string[]): void {
    for (const ord of ords) this.#claimed.forget(ord);
  }

  /** True when the lane had its share and another one waits. */
  sliceOver(entry: LaneEntry): boolean {
    const { turns, ms } = this.#options.slice;
    const usedUp = entry.sliceTurns >= turns || this.#options.clock.monotonicMs() - entry.sliceStartMs >= ms;
    return usedUp && (this.#ring.first !== null || entry.tenant.ready.first !== null);
  }

  leave(entry: LaneEntry): void {
    this.#freeSlot(entry);
    entry.state = 'releasing';
    entry.isLocked = false;
  }

  /** Keeps an idle lane in hand; false when none is to be kept, or too many are. */
  linger(entry: LaneEntry): boolean {
    const { clock, lingerMs, lanesMax } = this.#options;
    if (lingerMs === 0 || this.#lingering.size >= Math.min(LINGERING_MAX, lanesMax / 2)) return false;
    this.#freeSlot(entry);
    entry.state = 'lingering';
    entry.readyAtMs = clock.monotonicMs() + lingerMs;
    this.#lingering.push(entry);
    return true;
  }

  /** Takes out the lanes whose time in hand is over, to be released. */
  lingerOver(): LaneEntry[] {
    const over: LaneEntry[] = [];
    const nowMs = this.#options.clock.monotonicMs();
    for (let entry = this.#lingering.first; entry !== null && entry.readyAtMs <= nowMs; entry = this.#lingering.first) {
      over.push(this.#toRelease(entry));
    }
    return over;
  }

  /** Back among the waiting, last of its tenant. */
  requeue(entry: LaneEntry): void {
    this.#freeSlot(entry);
    this.#makeReady(entry);
  }

  /** Back among the waiting, but not picked before `deferMs` have passed or a wake-up names it. */
  defer(entry: LaneEntry): void {
    this.#freeSlot(entry);
    entry.state = 'waiting';
    entry.readyAtMs = this.#options.clock.monotonicMs() + this.#options.deferMs;
    this.#deferred.push(entry);
  }

  /** Makes ready what was deferred long enough. */
  wakeDeferred(): void {
    const nowMs = this.#options.clock.monotonicMs();
    for (let entry = this.#deferred.first; entry !== null && entry.readyAtMs <= nowMs; entry = this.#deferred.first) {
      this.#makeReady(entry);
    }
  }

  drop(entry: LaneEntry): void {
    this.#freeSlot(entry);
    entry.queue?.remove(entry);
    this.#entries.delete(entry.lane.laneId);
    const { tenant } = entry;
    tenant.lanes--;
    this.#place(tenant);
    if (tenant.lanes === 0) this.#tenants.delete(tenant.tenantId);
  }

  /** Takes out the lanes in hand that a partition's hand-over, or the end of this worker, leaves to others, to be released. */
  takeLocked(which: (lane: LaneRef) => boolean): LaneEntry[] {
    const taken: LaneEntry[] = [];
    for (const entry of this.#entries.values()) {
      const isInHand = entry.state === 'lingering' || (entry.state === 'waiting' && entry.isLocked);
      if (isInHand && which(entry.lane)) taken.push(this.#toRelease(entry));
    }
    return taken;
  }

  /** Takes out the waiting lanes that a partition's hand-over, or the end of this worker, leaves to others. */
  takeWaiting(which: (lane: LaneRef) => boolean): LaneRef[] {
    const taken: LaneRef[] = [];
    for (const entry of this.#entries.values()) {
      if (entry.state !== 'waiting' || !which(entry.lane)) continue;
      taken.push(entry.lane);
      this.drop(entry);
    }
    return taken;
  }

  /** `capOf` may answer more than before. */
  capsChanged(): void {
    for (let left = this.#capped.size; left > 0; left--) {
      const tenant = this.#capped.shift();
      if (tenant !== null) this.#place(tenant);
    }
  }

  /** A rival holds the lane's lock: who serves it next asks for it. */
  lockLost(laneId: LaneId): void {
    const entry = this.#entries.get(laneId);
    if (entry?.state === 'lingering' || entry?.state === 'waiting') entry.isLocked = false;
  }

  /** Lanes whose lock is held, or asked for. */
  withLock(): LaneRef[] {
    const lanes: LaneRef[] = [];
    for (const { state, isLocked, lane } of this.#entries.values()) {
      if (isLocked || state === 'claiming' || state === 'running') lanes.push(lane);
    }
    return lanes;
  }

  /** True while a lane could be picked. */
  get hasClaimable(): boolean {
    return this.#ring.first !== null && this.#slotsUsed < this.#options.slotsMax;
  }

  get slotsUsed(): number {
    return this.#slotsUsed;
  }

  slotsByTenant(): Map<TenantId, number> {
    const used = new Map<TenantId, number>();
    for (const tenant of this.#tenants.values()) if (tenant.slotsUsed > 0) used.set(tenant.tenantId, tenant.slotsUsed);
    return used;
  }

  /** Lanes here, how many of them are ready, and since when the oldest ready one of each group waits. */
  snapshot<Group>(groupOf: (lane: LaneRef) => Group): SchedulerSnapshot<Group> {
    const oldestReadyMs = new Map<Group, number>();
    const nowMs = this.#options.clock.monotonicMs();
    let ready = 0;
    for (const entry of this.#entries.values()) {
      if (entry.queue !== entry.tenant.ready) continue;
      ready++;
      const group = groupOf(entry.lane);
      oldestReadyMs.set(group, Math.max(oldestReadyMs.get(group) ?? 0, nowMs - entry.readyAtMs));
    }
    return { lanes: this.#entries.size, ready, oldestReadyMs };
  }

  #toRelease(entry: LaneEntry): LaneEntry {
    entry.queue?.remove(entry);
    entry.state = 'releasing';
    entry.isLocked = false;
    this.#place(entry.tenant);
    return entry;
  }

  #tenantOf(tenantId: TenantId): TenantShare {
    let tenant = this.#tenants.get(tenantId);
    if (tenant === undefined) {
      tenant = new TenantShare(tenantId);
      this.#tenants.set(tenantId, tenant);
    }
    return tenant;
  }

  #makeReady(entry: LaneEntry): void {
    entry.queue?.remove(entry);
    entry.state = 'waiting';
    entry.readyAtMs = this.#options.clock.monotonicMs();
    entry.tenant.ready.push(entry);
    this.#place(entry.tenant);
  }

  #freeSlot(entry: LaneEntry): void {
    if (entry.state !== 'claiming' && entry.state !== 'running') return;
    this.#slotsUsed--;
    entry.tenant.slotsUsed--;
    this.#place(entry.tenant);
  }

  #mayTake(tenant: TenantShare): boolean {
    return tenant.slotsUsed < Math.min(this.#tenantSlotsMax, this.#options.capOf(tenant.tenantId));
  }

  /** Puts a tenant where it belongs: the ring, the capped, or nowhere. One that stands in the ring keeps its turn. */
  #place(tenant: TenantShare): void {
    const home = tenant.ready.first === null ? null : this.#mayTake(tenant) ? this.#ring : this.#capped;
    if (tenant.queue === home) return;
    tenant.queue?.remove(tenant);
    home?.push(tenant);
  }
}

export interface SchedulerSnapshot<Group> {
  readonly lanes: number;
  readonly ready: number;
  readonly oldestReadyMs: ReadonlyMap<Group, number>;
}
