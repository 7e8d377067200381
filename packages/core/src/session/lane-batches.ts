import { Batcher } from '../batching/batcher.ts';
import type { Clock, Ids } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { BootId, LaneRef, TenantId } from '../ids.ts';
import type {
  ClaimRequest,
  ClaimResult,
  CommitRequest,
  CommitResult,
  HandBackRequest,
  LaneStore,
  SessionDecision,
  SessionFacts,
} from '../ports/lane.ts';
import type { Histogram } from '../ports/runtime.ts';
import type { LaneLocks, LockAnswer } from '../ports/signals.ts';
import { mayClearAgain } from '../recovery/turn-mark.ts';
import type { LaneEntry } from './scheduler.ts';

export interface LaneBatchesOptions {
  readonly bootId: BootId;
  readonly store: Pick<LaneStore, 'claim' | 'commit' | 'handBack' | 'look'>;
  readonly locks: LaneLocks;
  /** Boot ids known to be dead or gone: their locks count as free. */
  readonly goneBoots: () => ReadonlySet<BootId>;
  /** Which session the next event of a lane gets, when its store asks. @throws StoreError */
  readonly routeSession: (tenantId: TenantId, facts: SessionFacts) => Promise<SessionDecision>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics: LaneBatchMetrics;
}

export interface LaneBatchMetrics {
  readonly claimBatchSize: Histogram;
  readonly commitBatchSize: Histogram;
  readonly commitSeconds: Histogram;
}

interface Claim {
  readonly entry: LaneEntry;
  readonly request: ClaimRequest;
}

interface Commit {
  readonly entry: LaneEntry;
  readonly request: CommitRequest;
}

export type DecidedClaim = Exclude<ClaimResult, { readonly result: 'undecided' }>;

const ITEMS_MAX = 128;
const COMMIT_BYTES_MAX = 4 * 1024 * 1024;
/** The steps of a lane wait for each other, so what waits is bounded by the scheduler's lanes. */
const QUEUE_MAX = Number.POSITIVE_INFINITY;
/** A batch that a locked row holds up is halved after this; `until` goes on with each item. */
const RETRY = { attemptsMax: 4, baseMs: 25, capMs: 500 };
const AGAIN_MS = 500;
/** The facts of a lane may change while they are judged; not so often that this is not enough. */
const DECISIONS_MAX = 3;

/**
 * The steps of many lanes, each as one statement for all that are ready at the same time; two claims and two commits in
 * flight. `dirty` is cleared here, right before each request is sent whose answer may mean "nothing more" or "not now": a
 * wake-up that comes later is seen by whoever handles the answer (protocol H12).
 */
export class LaneBatches {
  readonly #options: LaneBatchesOptions;
  readonly #closing = new AbortController();
  readonly #takes: Batcher<LaneEntry, LockAnswer>;
  readonly #claims: Batcher<Claim, ClaimResult | 'refused'>;
  readonly #patientClaims: Batcher<Claim, ClaimResult | 'refused'>;
  readonly #commits: Batcher<Commit, CommitResult | 'refused'>;
  readonly #handBacks: Batcher<HandBackRequest, boolean>;
  readonly #looks: Batcher<LaneEntry, boolean>;

  constructor(options: LaneBatchesOptions) {
    this.#options = options;
    const { bootId, store, locks, goneBoots, clock, ids, metrics } = options;
    const shared = { clock, ids, queueMax: QUEUE_MAX, itemsMax: ITEMS_MAX, retry: RETRY };
    const refused = () => 'refused' as const;
    this.#takes = new Batcher<LaneEntry, LockAnswer>({
      ...shared,
      name: 'locks',
      flushesMax: 2,
      flush: (entries) => {
        for (const entry of entries) entry.dirty = false;
        return locks.take(bootId, entries.map(laneOf), goneBoots());
      },
      onRowError: () => undefined,
    });
    const claim = (wait: boolean) => (claims: readonly Claim[]) => {
      for (const { entry } of claims) entry.dirty = false;
      return store.claim(bootId, claims.map(requestOf), { wait });
    };
    this.#claims = new Batcher<Claim, ClaimResult | 'refused'>({
      ...shared,
      name: 'claim',
      flushesMax: 2,
      flush: claim(false),
      onRowError: refused,
      observe: (size) => metrics.claimBatchSize.observe(size),
    });
    this.#patientClaims = new Batcher<Claim, ClaimResult | 'refused'>({
      ...shared,
      name: 'claim',
      itemsMax: 1,
      flush: claim(true),
      onRowError: refused,
    });
    this.#commits = new Batcher<Commit, CommitResult | 'refused'>({
      ...shared,
      name: 'commit',
      flushesMax: 2,
      bytesMax: COMMIT_BYTES_MAX,
      bytesOf: ({ request }) => request.reply?.text.length ?? 0,
      flush: (commits) => this.#flushCommits(commits),
      onRowError: refused,
      observe: (size) => metrics.commitBatchSize.observe(size),
    });
    this.#handBacks = new Batcher({
      ...shared,
      name: 'hand back',
      flush: (requests) => store.handBack(bootId, requests),
      onRowError: () => false,
    });
    this.#looks = new Batcher({
      ...shared,
      name: 'release',
      flushesMax: 2,
      flush: (entries) => this.#releaseAndLook(entries),
      onRowError: () => false,
    });
  }

  /** `away` when the worker ends meanwhile. */
  take(entry: LaneEntry): Promise<LockAnswer> {
    return this.#until(() => this.#takes.add(entry), { held: 'away' });
  }

  /**
   * One claim; with `wait` alone, with a short wait for the lane's lock. `unknown`: it may have succeeded, also later; a
   * claim of the lane under the same turn id will tell. `refused`: a row of the lane is at fault.
   */
  async claim(entry: LaneEntry, request: ClaimRequest, wait: boolean): Promise<DecidedClaim | 'refused' | 'unknown'> {
    const claims = wait ? this.#patientClaims : this.#claims;
    try {
      let claim = await claims.add({ entry, request });
      for (let decisions = 0; claim !== 'refused' && claim.result === 'undecided'; decisions++) {
        if (decisions === DECISIONS_MAX) return { result: 'skipped' };
        const route = await this.#options.routeSession(entry.lane.tenantId, claim.facts);
        claim = await claims.add({ entry, request: { ...request, route } });
      }
      return claim;
    } catch (error) {
      if (error instanceof AppError && error.retryable) return 'unknown';
      throw error;
    }
  }

  /** Repeated until it is answered, for as long as this worker lives; then `null`. */
  commit(entry: LaneEntry, request: CommitRequest): Promise<CommitResult | 'refused' | null> {
    return this.#until(() => this.#commits.add({ entry, request }), null);
  }

  /** True where the fence pair was still mine; `null` when this worker ends before it is answered. */
  handBack(request: HandBackRequest): Promise<boolean | null> {
    return this.#until(() => this.#handBacks.add(request), null);
  }

  /** Gives the lock back, waits for that, and only then looks: does the lane have work that nobody runs? `null` as above. */
  releaseAndLook(entry: LaneEntry): Promise<boolean | null> {
    return this.#until(() => this.#looks.add(entry), null);
  }

  /** Of what leads to turns (locks, claims), and of what ends them (commits, hand-backs, looks): is any due, and answers so far. */
  get progress() {
    return {
      claims: together([this.#takes, this.#claims, this.#patientClaims]),
      ends: together([this.#commits, this.#handBacks, this.#looks]),
    };
  }

  /** Nothing more is sent. What waits for an answer gets none. */
  async close(): Promise<void> {
    this.#closing.abort();
    const all = [this.#takes, this.#claims, this.#patientClaims, this.#commits, this.#handBacks, this.#looks];
    await Promise.all(all.map((batcher) => batcher.close(0)));
  }

  async #flushCommits(commits: readonly Commit[]): Promise<readonly CommitResult[]> {
    const { bootId, store, clock, metrics } = this.#options;
    for (const { entry } of commits) entry.dirty = false;
    const startedMs = clock.monotonicMs();
    const results = await store.commit(bootId, commits.map(requestOf));
    metrics.commitSeconds.observe((clock.monotonicMs() - startedMs) / 1000);
    return results;
  }

  async #releaseAndLook(entries: readonly LaneEntry[]): Promise<readonly boolean[]> {
    const { store } = this.#options;
    const lanes = entries.map(laneOf);
    await this.#release(lanes);
    for (const entry of entries) entry.dirty = false;
    return store.look(lanes);
  }

  /** A lock that Redis refuses to take away keeps rivals off until its time to live; how the turn ended stays as it is. */
  async #release(lanes: readonly LaneRef[]): Promise<void> {
    const { bootId, locks, clock, ids } = this.#options;
    for (let failures = 0; !(await locks.release(bootId, lanes)); ) {
      if (!mayClearAgain(++failures)) return;
      await clock.sleep(RETRY.baseMs * (0.5 + ids.random() / 2), this.#closing.signal);
    }
  }

  /** Tries again while the store does not answer, for as long as this worker lives. */
  async #until<Result, None>(attempt: () => Promise<Result>, none: None): Promise<Result | None> {
    const { clock, ids } = this.#options;
    while (!this.#closing.signal.aborted) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof AppError) || !error.retryable) throw error;
        await clock.sleep(AGAIN_MS * (0.5 + ids.random() / 2), this.#closing.signal);
      }
    }
    return none;
  }
}

function together(batchers: readonly Pick<Batcher<unknown, unknown>, 'progress'>[]) {
  const all = batchers.map(({ progress }) => progress);
  return { isDue: all.some(({ isDue }) => isDue), steps: all.reduce((sum, { steps }) => sum + steps, 0) };
}

function laneOf(entry: LaneEntry) {
  return entry.lane;
}

function requestOf<Request>(item: { readonly request: Request }): Request {
  return item.request;
}
