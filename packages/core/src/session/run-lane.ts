import { isLedgered } from '../delivery/ledger.ts';
import { assertNever } from '../errors.ts';
import type { LaneRef, SessionId, TurnId } from '../ids.ts';
import type { ClaimedTurn, CommitRequest, HandBackRequest } from '../ports/lane.ts';
import type { WakeUp } from '../ports/signals.ts';
import { isSilent, SILENCE_NOTICE } from '../recovery/silence.ts';
import { cleanText } from '../text.ts';
import { lastResort, longerWaitMs } from './last-resort.ts';
import { hopsOfTurn, isByMachine, loopKind } from './loop-budget.ts';
import type { CommittedResult, LaneRunnerOptions } from './run-lane-options.ts';
import type { LaneEntry } from './scheduler.ts';
import type { RunningAgentTurn, TurnEnd } from './turn.ts';

type Claim = ClaimedTurn | 'empty' | 'busy' | 'later' | 'drop';

/**
 * Why a slice ends: a rival holds the lock, or runs a turn (`busy`); there is work, but not for now (`later`); nothing is
 * known to be left (`idle`); others are to have their share (`done`); the lane is at fault (`drop`).
 */
type Leaving = 'rival' | 'busy' | 'later' | 'idle' | 'done' | 'drop';

/** Lanes whose next step is the database's: enough to fill the batches in flight, few enough that a newcomer need not wait. */
const PIPELINE_MAX = 1200;
const SKIPS_MAX = 3;

/**
 * The worker's part of the lane protocol: what happens to a lane from its wake-up until nothing is left to do.
 *
 * ```
 *  receive   a known lane becomes dirty, another one waits in the scheduler
 *  lock      in Redis, to keep rivals quiet. A living rival's: the lane waits on, and is tried again after a second or
 *            when it is named again. Redis away: without. The lock proves nothing: the claim does
 *  claim     one statement for the lanes that are ready; the turn id is made before. Skipped (somebody holds the row):
 *            again with the next batch, after three times alone with a wait. Busy, not live, no answer: later
 *  run       the agent, with no connection, lock or transaction held
 *  commit    one statement for the turns that ended, under the fence pair. Repeated until it is answered: `again` is
 *            success. Stale: nothing was written, the result is dropped and counted
 *  continue  owner, not leaving, slice not used up, and (more or dirty): claim. Else release, an idle lane only after it
 *            was kept in hand for a while: a wake-up finds its lock taken, and nothing was asked in between
 *  release   lock deleted and that answered; THEN dirty = false and a look in Postgres; in the block that handles the
 *            answer: work or dirty ─► wait again (owner), or activate and drop (not owner, leaving). Else drop
 * ```
 * Why nothing is stranded: an event is committed before its wake-up is sent. If the wake-up arrives while the lane has
 * an entry it sets `dirty`, and `dirty` is cleared only right before a statement is sent that would see the event
 * (`LaneBatches`); it is tested in the same synchronous block in which an entry leaves. If it arrives elsewhere or not
 * at all: whoever leaves a lane looks after its lock is gone, so either he sees the event or its sender finds the lane
 * free; and whoever finds work that he may not do tells the owner. The owner's scan repairs what was lost.
 * Why no two turns have effect: every write is made where fence and turn id are those of the row; the rest hastens.
 */
export class LaneRunner {
  readonly #options: LaneRunnerOptions;
  #pipeline = 0;
  readonly #stopping = new AbortController();

  constructor(options: LaneRunnerOptions) {
    this.#options = options;
  }

  get #stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** Wake-ups of a partition that reached this worker, rightly or not. */
  receive(partition: number, wakeUps: readonly WakeUp[]): void {
    const { ownership, scheduler, metrics } = this.#options;
    if (!ownership.mayClaim(partition)) {
      metrics.activations.inc({ outcome: 'passed_on' }, wakeUps.length);
      this.#options.wakeUps.wake(partition, wakeUps);
      return;
    }
    const outcomes = { added: 0, known: 0, served: 0, full: 0 };
    for (const { lane, ord } of wakeUps) outcomes[scheduler.wake(lane, ord)]++;
    for (const [outcome, count] of Object.entries(outcomes)) if (count > 0) metrics.activations.inc({ outcome }, count);
    this.pump();
  }

  /** Starts what may start: called after everything that adds a ready lane, frees a slot or raises a cap. */
  pump(): void {
    if (this.#stopped || this.#pipeline >= PIPELINE_MAX) return;
    for (const entry of this.#options.scheduler.next(PIPELINE_MAX - this.#pipeline)) void this.#serve(entry);
  }

  /** Releases the idle lanes that were kept in hand for long enough. */
  endLinger(): void {
    for (const entry of this.#options.scheduler.lingerOver()) void this.#letGo(entry);
  }

  /** Leaves waiting lanes to others: those of a partition that is handed over, or all when this worker leaves. */
  giveAway(which: (lane: LaneRef) => boolean): void {
    for (const entry of this.#options.scheduler.takeLocked(which)) void this.#letGo(entry);
    const byPartition = new Map<number, WakeUp[]>();
    for (const lane of this.#options.scheduler.takeWaiting(which)) {
      const partition = this.#options.ownership.partitionOf(lane.slot);
      const wakeUps = byPartition.get(partition) ?? [];
      wakeUps.push({ lane, ord: null });
      byPartition.set(partition, wakeUps);
    }
    for (const [partition, wakeUps] of byPartition) this.#options.wakeUps.wake(partition, wakeUps);
  }

  /** Own death: every turn is aborted, nothing more is written or claimed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#options.turns.endAll({ how: 'lost' });
    await this.#options.batches.close();
  }

  /** Never rejects. */
  async #serve(entry: LaneEntry): Promise<void> {
    try {
      const why = await this.#slice(entry);
      if (!this.#stopped) await this.#leave(entry, why);
    } catch (error) {
      // a fault of the program: the owner's scan finds the lane again, the poll gives back a turn that still runs
      this.#options.log.failed(error, { laneId: entry.lane.laneId }, 'a lane could not be served');
      this.#dropEntry(entry);
    }
    this.pump();
  }

  /** Turns of one lane, one after the other, until it is empty or others are to have their share. */
  async #slice(entry: LaneEntry): Promise<Leaving> {
    const { batches, scheduler } = this.#options;
    this.#pipeline++;
    try {
      if (!entry.isLocked) {
        const lock = await batches.take(entry);
        if (lock.held === 'other') return 'rival';
        entry.isLocked = lock.held === 'mine';
      }
      for (;;) {
        const claim = await this.#claim(entry);
        if (claim === 'busy' || claim === 'later' || claim === 'drop') return claim;
        const ended = claim === 'empty' ? 'done' : await this.#runTurn(entry, claim);
        if (ended === 'later' || this.#stopped) return 'later';
        if (!this.#mayContinue(entry, ended === 'more')) return ended === 'more' ? 'done' : 'idle';
        scheduler.continue(entry);
      }
    } finally {
      this.#pipeline--;
    }
  }

  #mayContinue(entry: LaneEntry, more: boolean): boolean {
    return (more || entry.dirty) && this.#mayClaim(entry) && !this.#options.scheduler.sliceOver(entry);
  }

  #mayClaim(entry: LaneEntry): boolean {
    const { ownership } = this.#options;
    return ownership.mayClaim(ownership.partitionOf(entry.lane.slot));
  }

  async #claim(entry: LaneEntry): Promise<Claim> {
    const { turns, ids } = this.#options;
    const turnId = entry.unclearTurnId ?? (ids.next() as TurnId);
    turns.announce(turnId);
    try {
      return await this.#claimAs(entry, turnId);
    } catch (error) {
      turns.forget(turnId);
      throw error;
    }
  }

  async #claimAs(entry: LaneEntry, turnId: TurnId): Promise<Claim> {
    const { batches, ids } = this.#options;
    const request = { lane: entry.lane, turnId, newSessionId: ids.next() as SessionId };
    for (let skips = 0; ; ) {
      const claim = await batches.claim(entry, request, skips >= SKIPS_MAX);
      entry.unclearTurnId = claim === 'unknown' ? turnId : null;
      if (claim === 'unknown') return 'later';
      if (claim === 'refused') return this.#notClaimed(turnId, 'drop');
      switch (claim.result) {
        case 'claimed':
          return this.#claimed(entry, claim);
        case 'skipped':
          // after the wait for its lock a row is skipped only for an id that has named a turn: the next claim has another
          if (skips++ >= SKIPS_MAX) return this.#notClaimed(turnId, 'later');
          break;
        case 'empty':
        case 'held':
          return this.#notClaimed(turnId, 'empty');
        case 'busy':
          return this.#notClaimed(turnId, 'busy');
        case 'not_live':
          return this.#notClaimed(turnId, 'later');
        case 'missing':
          this.#options.metrics.activations.inc({ outcome: 'missing' });
          return this.#notClaimed(turnId, 'drop');
        default:
          return assertNever(claim);
      }
    }
  }

  #notClaimed<Answer extends Claim>(turnId: TurnId, next: Answer): Answer {
    this.#options.turns.forget(turnId);
    return next;
  }

  #claimed(entry: LaneEntry, claimed: ClaimedTurn): ClaimedTurn {
    const { crashPoints, scheduler, metrics } = this.#options;
    crashPoints.hit('claim.after');
    scheduler.running(
      entry,
      claimed.events.map(({ ord }) => ord),
    );
    const [oldest] = claimed.events;
    if (oldest !== undefined) {
      const waitedMs = claimed.startedAt.getTime() - oldest.acceptedAt.getTime();
      metrics.turnStartSeconds.observe(Math.max(0, waitedMs) / 1000, { reason: claimed.reason });
    }
    return claimed;
  }

  /** The turn, up to the answer of what it writes. While the agent works the lane is out of the pipeline. */
  async #runTurn(entry: LaneEntry, claimed: ClaimedTurn): Promise<'more' | 'done' | 'later'> {
    const { turns, stream, crashPoints } = this.#options;
    crashPoints.hit('turn.before-model');
    this.#pipeline--;
    this.pump();
    const { turn, end } = await turns.run(claimed);
    this.#pipeline++;
    crashPoints.hit('turn.after-model');
    try {
      return await this.#endTurn(entry, turn, end);
    } finally {
      stream.dropped(claimed);
      turns.forget(claimed.fence.turnId);
    }
  }

  async #endTurn(entry: LaneEntry, turn: RunningAgentTurn, end: TurnEnd): Promise<'more' | 'done' | 'later'> {
    switch (end.how) {
      case 'lost':
        // the row already ended it, or has ended with this worker: a claim tells what is left
        if (!this.#stopped) await this.#options.words.keep(turn);
        return 'more';
      case 'given_back':
        // a drain's limit cuts off a model at work: what it did counts, and the next turn is told
        return this.#handBack(turn.claimed, end.reason, turn.hasBegun && end.reason !== 'local_failure');
      case 'replied':
      case 'failed':
        return this.#commit(entry, turn, await this.#commitRequest(turn, end));
      default:
        return assertNever(end);
    }
  }

  async #handBack(claimed: ClaimedTurn, reason: HandBackRequest['reason'], hadEffect: boolean) {
    const { batches, scheduler } = this.#options;
    const { lane, fence } = claimed;
    const mine = await batches.handBack({ lane, fence, hadEffect, reason });
    if (mine === false) this.#stale(claimed, 'hand_back');
    scheduler.unclaimed(claimed.events.map(({ ord }) => ord));
    return 'later' as const;
  }

  async #commitRequest(
    turn: RunningAgentTurn,
    end: Extract<TurnEnd, { readonly how: 'replied' | 'failed' }>,
  ): Promise<CommitRequest> {
    const { lane, fence } = turn.claimed;
    const common = { lane, fence, messageId: turn.messageId, agentVersion: turn.agentVersion };
    if (end.how === 'failed') {
      return { ...common, status: end.status, reply: null, error: { code: end.code }, usage: null, owed: null };
    }
    const { text, usage, attachments = [] } = end.reply;
    const isBlank = !isLedgered({ kind: 'turn', text, ledgerEnabled: true });
    const nobodyWaits = turn.claimed.events.every(isByMachine);
    const isSilence = attachments.length === 0 && (isBlank || isSilent(text, { autonomous: nobodyWaits }));
    if (isSilence && (isBlank || nobodyWaits))
      return { ...common, status: 'no_reply', reply: null, error: null, usage, owed: null };
    const owed = await this.#options.replies.owedFor(turn.claimed);
    if (isSilence) return { ...common, status: 'no_reply', reply: SILENCE_NOTICE, error: null, usage, owed };
    // no store keeps NUL or half a surrogate pair, and a model may end in the middle of one
    const cleaned = cleanText(text, { nul: 0, loneSurrogate: 0 });
    const hops = hopsOfTurn(turn.claimed) + 1;
    const reply = { text: cleaned, ...(attachments.length > 0 && { attachments }), ...(hops > 1 && { hops }) };
    return { ...common, status: 'ok', reply, error: null, usage, owed };
  }

  async #commit(entry: LaneEntry, turn: RunningAgentTurn, wanted: CommitRequest): Promise<'more' | 'done' | 'later'> {
    const { batches, crashPoints } = this.#options;
    crashPoints.hit('commit.before');
    const first = await batches.commit(entry, wanted);
    const request = first === 'refused' ? lastResort(wanted) : wanted;
    const result = first === 'refused' ? await this.#commitAtLast(entry, turn, request) : first;
    crashPoints.hit('commit.after');
    if (result === null) return 'done';
    if (result === 'given_up') return this.#handBack(turn.claimed, 'local_failure', false);
    if (result.result === 'stale') {
      this.#stale(turn.claimed, 'commit');
      return 'more';
    }
    this.#committed(turn, request, result);
    return result.more ? 'more' : 'done';
  }

  /**
   * The store refuses what this turn wants to write, so it ends with an error that holds nothing of it. Refused even
   * that, the turn is not run again: the commit is repeated, ever more seldom, until the store takes it, somebody else
   * has ended the turn, or this worker may no longer claim the lane and gives it back.
   */
  async #commitAtLast(entry: LaneEntry, { claimed }: RunningAgentTurn, request: CommitRequest) {
    const { batches, clock, ids, log, metrics } = this.#options;
    const about = { tenantId: claimed.lane.tenantId, laneId: claimed.lane.laneId, turnId: claimed.fence.turnId };
    this.#pipeline--;
    try {
      for (let waitMs = 0; ; waitMs = longerWaitMs(waitMs)) {
        metrics.commitsRefused.inc();
        log.error({ ...about, code: 'internal' }, 'the store refuses what a turn writes');
        await clock.sleep(waitMs * (0.5 + ids.random() / 2), this.#stopping.signal);
        if (waitMs > 0 && !this.#mayClaim(entry)) return 'given_up' as const;
        const result = await batches.commit(entry, request);
        if (result !== 'refused') return result;
      }
    } finally {
      this.#pipeline++;
    }
  }

  #committed(turn: RunningAgentTurn, request: CommitRequest, result: CommittedResult): void {
    const { metrics, replies, stream } = this.#options;
    const { claimed, runtime } = turn;
    const seconds = (result.finishedAt.getTime() - claimed.startedAt.getTime()) / 1000;
    metrics.turnsTotal.inc();
    metrics.turnSeconds.observe(Math.max(0, seconds), { runtime, status: request.status });
    metrics.eventsSettled.inc({ status: request.status }, claimed.events.length);
    const loop = loopKind(request.error?.code);
    if (loop !== null) metrics.loopStops.inc({ kind: loop });
    stream.committed(claimed, { request, seq: result.seq, finishedAt: result.finishedAt });
    replies.committed(claimed, request, result);
  }

  #stale({ lane, fence }: ClaimedTurn, at: string): void {
    this.#options.metrics.staleFences.inc({ at });
    const about = { code: 'fenced', tenantId: lane.tenantId, laneId: lane.laneId, turnId: fence.turnId };
    this.#options.log.warn({ ...about, at }, 'a write was refused: the turn no longer owns its lane');
  }

  async #leave(entry: LaneEntry, why: Leaving): Promise<void> {
    const { scheduler } = this.#options;
    if (why === 'rival') return this.#deferOrPass(entry);
    // a wake-up since the slice ended has set `dirty`; from here on one finds the lane lingering and makes it ready
    const stays = why === 'idle' && !entry.dirty && this.#mayClaim(entry) && scheduler.linger(entry);
    if (!stays) scheduler.leave(entry);
    this.pump();
    if (!stays) await this.#release(entry, why);
  }

  /** Releases a lane that was in hand without work. Never rejects. */
  async #letGo(entry: LaneEntry): Promise<void> {
    try {
      await this.#release(entry, 'idle');
      this.pump();
    } catch (error) {
      this.#options.log.failed(error, { laneId: entry.lane.laneId }, 'a lane could not be released');
      this.#dropEntry(entry);
    }
  }

  async #release(entry: LaneEntry, why: Leaving): Promise<void> {
    const { batches, scheduler } = this.#options;
    const work = await batches.releaseAndLook(entry);
    // from here on synchronous: a wake-up comes either before, and has set `dirty`, or after, and finds no entry
    if (work === null || this.#stopped) return;
    const isNew = work || entry.dirty;
    if (why === 'later' || (why === 'busy' && !isNew)) this.#deferOrPass(entry);
    else if (why === 'drop' || !isNew) this.#dropEntry(entry);
    else if (this.#mayClaim(entry)) scheduler.requeue(entry);
    else this.#passOn(entry);
  }

  /** To be tried later; at once when a wake-up came meanwhile: it may say that the rival has let go. */
  #deferOrPass(entry: LaneEntry): void {
    const { scheduler } = this.#options;
    if (!this.#mayClaim(entry)) this.#passOn(entry);
    else if (entry.dirty) scheduler.requeue(entry);
    else scheduler.defer(entry);
  }

  #passOn(entry: LaneEntry): void {
    const { ownership, wakeUps } = this.#options;
    this.#dropEntry(entry);
    wakeUps.wake(ownership.partitionOf(entry.lane.slot), [{ lane: entry.lane, ord: null }]);
  }

  #dropEntry(entry: LaneEntry): void {
    if (entry.unclearTurnId !== null) this.#options.turns.forget(entry.unclearTurnId);
    this.#options.scheduler.drop(entry);
  }
}
