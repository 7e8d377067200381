import type { Ids } from '../../clock.ts';
import type { AgentId, BootId, EventId, LaneId, LaneRef, SessionId, TenantId, TurnId } from '../../ids.ts';
import type {
  ClaimedTurn,
  ClaimRequest,
  ClaimResult,
  CommitRequest,
  CommitResult,
  Fence,
  HandBackRequest,
  ReadyLane,
  RunningTurn,
} from '../../ports/lane.ts';
import { verdictOf } from '../../recovery/lost-turns.ts';
import { RECOVERY_DEFAULTS } from '../../recovery/strikes.ts';
import { ownsMark } from '../../recovery/turn-mark.ts';
import type { Interleaver } from './interleaver.ts';

export interface EventRow {
  readonly eventId: EventId;
  readonly ord: number;
  readonly lane: LaneRef;
  state: 'queued' | 'resuming' | 'ended' | 'discarded';
  attempts: number;
}

interface LaneRow {
  readonly lane: LaneRef;
  fence: number;
  seq: number;
  turn: {
    readonly turnId: TurnId;
    readonly bootId: BootId;
    readonly events: readonly EventRow[];
    readonly isResume: boolean;
  } | null;
  resumeOf: readonly EventRow[] | null;
  /** Automatic resumes in a row. */
  strikes: number;
}

/** What the checks look at: effects in the order in which they happened. */
export interface Effect {
  readonly turnId: TurnId;
  readonly ord: number;
  readonly laneId: LaneId;
  /** The turn that ran by the row. */
  readonly ranAs: TurnId;
}

/** The lane's rows in memory, by the rules of the lane protocol: each request has its effect at one moment. */
export class MemoryLanes {
  readonly events: EventRow[] = [];
  readonly effects: Effect[] = [];
  readonly workers = new Map<BootId, 'live' | 'leaving' | 'gone' | 'dead'>();
  readonly resumes: TurnId[] = [];
  /** Probability that a lane's row is held by somebody else when it is claimed. */
  skipRate = 0;
  /** Broken on purpose: writes are let in by the fence's number alone. */
  fenceOnly = false;
  /** Suspensions, with the crashes in a row that led to each. */
  readonly suspensions: number[] = [];
  readonly #lanes = new Map<LaneId, LaneRow>();
  readonly #done = new Set<TurnId>();
  /** Turns that have ended in whatever way: their rows stay. */
  readonly #over = new Set<TurnId>();
  readonly #steps: Interleaver;
  readonly #ids: Ids;

  constructor(steps: Interleaver, ids: Ids) {
    this.#steps = steps;
    this.#ids = ids;
  }

  accept(lane: LaneRef): EventRow {
    this.#laneOf(lane);
    const event: EventRow = {
      ...{ eventId: this.#ids.next() as EventId, ord: this.events.length + 1, lane },
      ...{ state: 'queued', attempts: 0 },
    };
    this.events.push(event);
    return event;
  }

  /** Control: /stop. Returns the turn that was stopped. */
  stop(lane: LaneRef): TurnId | null {
    const row = this.#laneOf(lane);
    const turnId = row.turn?.turnId ?? null;
    row.fence++;
    const queued = this.events.find((event) => event.lane.laneId === lane.laneId && event.state === 'queued');
    for (const event of [...(row.turn?.events ?? []), ...(row.resumeOf ?? []), ...(queued ? [queued] : [])]) {
      event.state = 'discarded';
    }
    this.#end(row);
    row.resumeOf = null;
    return turnId;
  }

  /** The leader's sweep: turns of the dead and gone are interrupted, and owed one resume. */
  interruptLost(): LaneRef[] {
    const woken: LaneRef[] = [];
    for (const row of this.#lanes.values()) {
      if (row.turn === null || ['live', 'leaving'].includes(this.workers.get(row.turn.bootId) ?? 'gone')) continue;
      this.#interrupt(row, row.turn);
      woken.push(row.lane);
    }
    return woken;
  }

  /** By the rules that the coordinator follows. */
  #interrupt(row: LaneRow, turn: NonNullable<LaneRow['turn']>): void {
    const { outcome, resumes } = verdictOf({
      ...{
        lane: row.lane,
        turnId: turn.turnId,
        crashed: this.workers.get(turn.bootId) !== 'gone',
        resumes: row.strikes,
      },
      ...{ lostForMs: 3_000, ageMs: 3_000, suspended: false, resumePending: null, isMachine: false },
      ...{ failures: 0, steps: 0, lastStep: null, limits: RECOVERY_DEFAULTS },
      ...{ bootId: turn.bootId, ledgerEnabled: true, resumesLostAgoMs: [] },
    });
    if (outcome === 'suspended') this.suspensions.push(row.strikes + 1);
    if (outcome === 'resume') this.resumes.push(turn.turnId);
    row.fence++;
    row.strikes = resumes;
    this.#end(row);
    const owed = outcome === 'resume' || (outcome === 'requeued' && turn.isResume);
    if (owed) row.resumeOf = turn.events;
    for (const event of turn.events) event.state = owed ? 'resuming' : outcome === 'requeued' ? 'queued' : 'discarded';
  }

  /** A claim that its database did not keep: a crash before it was flushed, a failover. Numbers repeat, turn ids never. */
  loseClaim(lane: LaneRef): void {
    const row = this.#laneOf(lane);
    if (row.turn === null) return;
    const { events, isResume } = row.turn;
    row.fence--;
    row.turn = null;
    if (isResume) row.resumeOf = events;
    for (const event of events) event.state = isResume ? 'resuming' : 'queued';
  }

  /** The turn of a lane, for a signal that names the lane instead of the turn. */
  currentTurn(lane: LaneRef): TurnId | null {
    return this.#laneOf(lane).turn?.turnId ?? null;
  }

  claim(bootId: BootId, items: readonly ClaimRequest[]): Promise<ClaimResult[]> {
    return this.#steps.request(bootId, () => items.map((item) => this.#claim(bootId, item)));
  }

  commit(bootId: BootId, items: readonly CommitRequest[]): Promise<CommitResult[]> {
    return this.#steps.request(bootId, () => items.map((item) => this.#commit(item)));
  }

  handBack(bootId: BootId, items: readonly HandBackRequest[]): Promise<boolean[]> {
    return this.#steps.request(bootId, () =>
      items.map(({ lane, fence }) => {
        const row = this.#guard(lane, fence);
        if (row?.turn === null || row?.turn === undefined) return false;
        const { events, isResume } = row.turn;
        if (isResume) row.resumeOf = events;
        for (const event of events) event.state = isResume ? 'resuming' : 'queued';
        row.fence++;
        this.#end(row);
        return true;
      }),
    );
  }

  look(bootId: BootId, lanes: readonly LaneRef[]): Promise<boolean[]> {
    return this.#steps.request(bootId, () => lanes.map((lane) => this.#hasWork(this.#laneOf(lane))));
  }

  async scan(): Promise<ReadyLane[]> {
    return this.ready();
  }

  ready(): ReadyLane[] {
    return [...this.#lanes.values()].filter((row) => this.#hasWork(row)).map(({ lane }) => ({ ...lane, maxOrd: null }));
  }

  running(bootId: BootId): Promise<RunningTurn[]> {
    return this.#steps.request(bootId, () =>
      [...this.#lanes.values()].flatMap(({ lane, fence, turn }) =>
        turn?.bootId === bootId
          ? [{ lane, fence: { fence: String(fence), turnId: turn.turnId }, startedAt: new Date(0), ageMs: 10_000 }]
          : [],
      ),
    );
  }

  stillRunning(
    bootId: BootId,
    turns: readonly { readonly lane: LaneRef; readonly turnId: TurnId }[],
  ): Promise<boolean[]> {
    return this.#steps.request(bootId, () =>
      turns.map(({ lane, turnId }) => this.#laneOf(lane).turn?.turnId === turnId),
    );
  }

  append(): Promise<('ok' | 'again' | 'stale')[]> {
    throw new Error('no turn of this model has steps');
  }

  #claim(bootId: BootId, { lane, turnId }: ClaimRequest): ClaimResult {
    const row = this.#laneOf(lane);
    if (this.#steps.chance(this.skipRate)) return { result: 'skipped' };
    if (row.turn?.turnId === turnId) return this.#claimedTurn(row, row.turn);
    if (this.workers.get(bootId) !== 'live') return { result: 'not_live' };
    if (row.turn !== null) return { result: 'busy' };
    const queued = this.events.find((event) => event.lane.laneId === lane.laneId && event.state === 'queued');
    const events = row.resumeOf ?? (queued === undefined ? [] : [queued]);
    if (events.length === 0) return { result: 'empty' };
    // a late repetition of a claim whose turn has ended meanwhile, by a stop say: an id names one turn
    if (this.#over.has(turnId)) return { result: 'skipped' };
    const isResume = row.resumeOf !== null;
    row.resumeOf = null;
    row.fence++;
    row.seq++;
    row.turn = { turnId, bootId, events, isResume };
    return this.#claimedTurn(row, row.turn);
  }

  #claimedTurn(row: LaneRow, turn: NonNullable<LaneRow['turn']>): ClaimedTurn {
    return {
      ...{ result: 'claimed', lane: row.lane, fence: { fence: String(row.fence), turnId: turn.turnId } },
      ...{ agentId: 'agent' as AgentId, sessionKey: 'key', source: { platform: 'api', chatType: 'dm' } },
      ...{
        sessionId: 'session' as SessionId,
        seq: String(row.seq),
        reason: 'message',
        interrupted: null,
        resumeOf: null,
      },
      startedAt: new Date(0),
      events: turn.events.map(({ eventId, ord, attempts }) => ({
        ...{ eventId, ord: String(ord), kind: 'message', accountId: null, attempts },
        ...{ body: { text: 'hello', source: { platform: 'api', chatType: 'dm' } } },
        ...{ acceptedAt: new Date(0), traceparent: null },
      })),
    };
  }

  #commit({ lane, fence }: CommitRequest): CommitResult {
    const row = this.#guard(lane, fence);
    const stored = { seq: '1', finishedAt: new Date(0), delivery: null } as const;
    if (row?.turn === null || row?.turn === undefined) {
      const again = this.#done.has(fence.turnId);
      return again ? { result: 'again', more: this.#hasWork(this.#laneOf(lane)), ...stored } : { result: 'stale' };
    }
    for (const event of row.turn.events) {
      this.effects.push({ turnId: fence.turnId, ord: event.ord, laneId: lane.laneId, ranAs: row.turn.turnId });
      event.state = 'ended';
      event.attempts++;
    }
    this.#done.add(fence.turnId);
    this.#end(row);
    row.strikes = 0;
    row.seq++;
    return { result: 'ok', more: this.#hasWork(row), ...stored };
  }

  #end(row: LaneRow): void {
    if (row.turn !== null) this.#over.add(row.turn.turnId);
    row.turn = null;
  }

  #guard(lane: LaneRef, { fence, turnId }: Fence): LaneRow | null {
    const row = this.#laneOf(lane);
    const isMine = this.fenceOnly || ownsMark(row.turn?.turnId ?? null, turnId);
    return String(row.fence) === fence && isMine ? row : null;
  }

  #hasWork(row: LaneRow): boolean {
    if (row.turn !== null) return false;
    if (row.resumeOf !== null) return true;
    return this.events.some((event) => event.lane.laneId === row.lane.laneId && event.state === 'queued');
  }

  #laneOf(lane: LaneRef): LaneRow {
    let row = this.#lanes.get(lane.laneId);
    if (row === undefined) {
      row = { lane, fence: 0, seq: 0, turn: null, resumeOf: null, strikes: 0 };
      this.#lanes.set(lane.laneId, row);
    }
    return row;
  }
}

export function laneRef(tenant: string, name: string, slot = 0): LaneRef {
  return { slot, tenantId: tenant as TenantId, laneId: `${tenant}/${name}` as LaneId };
}
