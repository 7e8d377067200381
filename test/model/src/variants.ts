/** What goes wrong in a variant of the protocol that breaks a rule, named by the assertion that sees it. */
export type Fault = 'stranded' | 'two effects' | 'order' | 'two resumes' | 'lost' | 'two sends' | 'stale send';

export interface Variant {
  readonly name: string;
  readonly model: 'lane' | 'accept' | 'deliver';
  /** Preprocessor names set to 1, or to a number. */
  readonly defines: Readonly<Record<string, number>>;
  /** What the exhaustive search must find. */
  readonly expect: 'holds' | Fault;
  /** Also every accepted event ends, under weak fairness (LTL), instead of the assertions. */
  readonly liveness?: true;
}

/** The text of the violated assertion, by the fault it stands for. */
export const FAULT_ASSERTIONS: Readonly<Record<Fault, readonly RegExp[]>> = {
  stranded: [/ev\[1\]==3\)\|\|\(ev\[1\]==4\)\)&&/, /st\[1\]==2\)\|\|/],
  'two effects': [/eff\[e\]<=1/, /proc\[r\]<=1/],
  order: [/\(e<2\)/, /r==1\)&&\(proc\[2\]>0/, /d==1\)&&\(\(plain\[2\]/],
  'two resumes': [/rc\[seen\]<=1/],
  lost: [/proc\[1\]==1\)&&\(proc\[2\]==1/],
  'two sends': [/plain\[d\]<=1/],
  'stale send': [/bst\[b\]==1/],
};

/** How often each fault may happen in a run of lane.pml; those not named do not happen. */
interface Budget {
  /** `kill -9`, or declared dead while the process runs on. */
  readonly FAILS?: number;
  /** Crash of Postgres that loses a claim that was not yet durable. */
  readonly PGC?: number;
  /** Redis flushed: locks and wake-ups gone. */
  readonly RED?: number;
  /** Ingress dies between commit and activation. */
  readonly LOST?: number;
  /** /stop. */
  readonly STOPS?: number;
  /** The partition moves to another worker. */
  readonly HAND?: number;
  /** A claim is committed and its answer lost. */
  readonly CLAIMLOST?: number;
  /** A turn asks a person. */
  readonly ASKS?: number;
}

const NO_FAULTS = { FAILS: 0, PGC: 0, RED: 0, LOST: 0, STOPS: 0, HAND: 0, CLAIMLOST: 0, ASKS: 0 };

/** Small enough for every run of the tests: the quick configurations hold, every broken variant is caught. */
export const SHORT: readonly Variant[] = [
  lane('wake-ups alone, without the scan', { HAND: 1 }, 'holds', ['NOSWEEP']),
  lane('wake-ups alone, 3 events, 2 hand-overs', { HAND: 2 }, 'holds', ['NOSWEEP'], { NE: 3 }),
  lane('a crash and a lost activation', { FAILS: 1, LOST: 1 }, 'holds'),
  lane('a claim whose answer was lost, a hand-over', { CLAIMLOST: 1, HAND: 1 }, 'holds'),
  lane('late dirty, covered by the look', { HAND: 1 }, 'holds', ['NOSWEEP', 'DIRTY_LATE']),
  lane('busy lanes dropped, covered by the look', { HAND: 1 }, 'holds', ['NOSWEEP', 'DROP_ON_BUSY']),
  lane('look before the release, covered by a rival that waits', { HAND: 1 }, 'holds', ['NOSWEEP', 'LOOK_FIRST']),
  lane('no look, without hand-over', {}, 'holds', ['NOSWEEP', 'NO_LOOK']),
  lane('dirty cleared after the answer', {}, 'stranded', ['NOSWEEP', 'DIRTY_LATE', 'NO_LOOK']),
  lane('no look after the release', { HAND: 1 }, 'stranded', ['NOSWEEP', 'NO_LOOK']),
  lane('look too early and busy lanes dropped', { HAND: 1 }, 'stranded', ['NOSWEEP', 'LOOK_FIRST', 'DROP_ON_BUSY']),
  lane('no look and busy lanes dropped', { HAND: 1 }, 'stranded', ['NOSWEEP', 'NO_LOOK', 'DROP_ON_BUSY']),
  lane('a non-owner drops the wake-up', { HAND: 1 }, 'stranded', ['NOSWEEP', 'NO_REACT']),
  lane('claim ignores a running turn', { RED: 1, HAND: 1 }, 'order', ['NO_GUARD']),
  lane('claim decides before it holds the row', { RED: 1, HAND: 1, STOPS: 1 }, 'two effects', ['STALE_PICK']),
  lane('the fence alone as guard', { PGC: 1, RED: 1, HAND: 1 }, 'two effects', ['FENCE_ONLY']),
  // the poll would hand the wrongly aborted turn back: without it the signal's fault shows
  lane('a signal names the lane', { STOPS: 1 }, 'stranded', ['SIG_LANE', 'NO_POLL']),
  lane('a signal names the turn, without the poll', { STOPS: 1 }, 'holds', ['NO_POLL']),
  lane('take-over looks once', { FAILS: 1 }, 'stranded', ['EDGE']),
  lane('two leaders without compare-and-set', { FAILS: 1 }, 'two resumes', ['RESUME_NOCAS']),
  lane('a crash without the scan', { FAILS: 1 }, 'stranded', ['NOSWEEP']),
  lane('nobody asks for turns that no worker knows', { CLAIMLOST: 1 }, 'stranded', ['NO_POLL']),
  lane('a question, with its wake-up lost', { ASKS: 1, LOST: 1 }, 'holds'),
  lane('a question, a stop, a hand-over', { ASKS: 1, STOPS: 1, HAND: 1 }, 'holds'),
  lane('two questions, wake-ups alone', { ASKS: 2, HAND: 1 }, 'holds', ['NOSWEEP']),
  lane('claim takes a lane that waits for a person', { ASKS: 1 }, 'order', ['CLAIM_WAITING']),
  lane('two answers without compare-and-set', { ASKS: 1 }, 'two resumes', ['ANSWER_NOCAS']),
  accept('two ingresses', 'holds'),
  accept('the next after the answer', 'holds', ['SEQ']),
  accept('pipelined on one socket', 'holds', ['PIPE']),
  accept('claim above a watermark', 'lost', ['WATERMARK']),
  accept('id blocks per connection', 'order', ['SEQ', 'CACHE']),
  accept('a repeated request without its key', 'two effects', ['NOKEY']),
  accept('two flushes in flight', 'order', ['PIPE', 'TWO_FLUSH']),
  deliver('deliveries and the one resend', 'holds'),
  deliver('the mark is not durable', 'two sends', ['ASYNC_MARK']),
  deliver('any delivery of the conversation first', 'order', ['NO_HEAD']),
  deliver('an unknown is passed over before its resend', 'order', ['EAGER_HEAD']),
  deliver('an uncertain send goes back to pending', 'two sends', ['REQUEUE']),
  deliver('an unknown is sent again each time', 'two sends', ['RESEND_ALWAYS']),
  deliver('any outcome is recorded', 'two sends', ['RECORD_ANY']),
  deliver('nobody asks for claims whose answer was lost', 'stranded', ['NO_POLL']),
  deliver('no send may leave after death', 'stale send', ['STRICT']),
];

/** The larger configurations of the corrected protocol: `npm run model`, tens of minutes. */
export const LONG: readonly Variant[] = [
  lane('a crash of a worker and of Postgres', { FAILS: 1, PGC: 1 }, 'holds'),
  lane('a crash and a Redis flush', { FAILS: 1, RED: 1 }, 'holds'),
  lane('a crash, a lost activation, a Postgres crash', { FAILS: 1, LOST: 1, PGC: 1 }, 'holds'),
  lane('a crash and a stop', { FAILS: 1, STOPS: 1 }, 'holds'),
  lane('a crash and a hand-over', { FAILS: 1, HAND: 1 }, 'holds'),
  lane('Postgres crash, Redis flush, hand-over', { PGC: 1, RED: 1, HAND: 1 }, 'holds'),
  lane('lost activation, stop, hand-over', { LOST: 1, STOPS: 1, HAND: 1 }, 'holds'),
  lane('Postgres crash, stop, hand-over, lost activation', { PGC: 1, STOPS: 1, HAND: 1, LOST: 1 }, 'holds'),
  lane('a lost claim and a crash', { CLAIMLOST: 1, FAILS: 1 }, 'holds'),
  lane('a lost claim, a stop, a hand-over', { CLAIMLOST: 1, STOPS: 1, HAND: 1 }, 'holds'),
  lane('a lost claim, a Redis flush, a hand-over', { CLAIMLOST: 1, RED: 1, HAND: 1 }, 'holds'),
  lane('two crashes: the resume of a resume', { FAILS: 2 }, 'holds'),
  lane('a question and a crash', { ASKS: 1, FAILS: 1 }, 'holds'),
  lane('a question, a Redis flush, a Postgres crash', { ASKS: 1, RED: 1, PGC: 1 }, 'holds'),
  lane('3 events, a crash and a stop', { FAILS: 1, STOPS: 1 }, 'holds', [], { NE: 3 }),
  { ...lane('every event ends, after a crash', { FAILS: 1, LOST: 1 }, 'holds'), liveness: true },
  { ...lane('every event ends, with a question', { ASKS: 1, LOST: 1, HAND: 1 }, 'holds'), liveness: true },
  { ...lane('every event ends, other faults', { PGC: 1, RED: 1, STOPS: 1, HAND: 1 }, 'holds'), liveness: true },
];

type Extra = Readonly<Record<string, number>>;

// biome-ignore lint/complexity/useMaxParams: one row of a table
function lane(
  name: string,
  budget: Budget,
  expect: Variant['expect'],
  flags: readonly string[] = [],
  extra: Extra = {},
): Variant {
  return { name, model: 'lane', expect, defines: { ...NO_FAULTS, ...budget, ...extra, ...set(flags) } };
}

function accept(name: string, expect: Variant['expect'], flags: readonly string[] = []): Variant {
  return { name, model: 'accept', expect, defines: set(flags) };
}

function deliver(name: string, expect: Variant['expect'], flags: readonly string[] = []): Variant {
  return { name, model: 'deliver', expect, defines: set(flags) };
}

function set(flags: readonly string[]): Record<string, number> {
  return Object.fromEntries(flags.map((flag) => [flag, 1]));
}
