import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { build, type Histogram } from 'hdr-histogram-js';
import { judge, type Sent, type Verdict } from './judge.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import { createSender, type Repeats, type Sender } from './sender.ts';
import { type LoadTarget, type SetupOptions, setUp } from './setup.ts';

const TICK_MS = 1;
const IN_FLIGHT_MAX = 50_000;

export interface LoadOptions extends Omit<SetupOptions, 'url' | 'replyUrl' | 'secret'> {
  readonly urls: readonly string[];
  readonly lanes: number;
  /** Open loop: messages a second for some seconds. Closed loop: so many messages, so many at once. */
  readonly pace:
    | { readonly kind: 'open'; readonly ratePerSecond: number; readonly seconds: number }
    | { readonly kind: 'closed'; readonly messages: number; readonly concurrency: number };
  /** Address that the gateway can reach and this process can bind. */
  readonly listenHost: string;
  readonly connections: number;
  /** Repeats of one unclear message end after this. */
  readonly giveUpMs: number;
  /** Nothing more is sent once it aborts; what was sent is waited for and judged. */
  readonly enough?: AbortSignal;
  /** After the last send: no new reply for so long means that none will come. */
  readonly quietMs: number;
}

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export interface LoadReport extends Verdict {
  readonly sent: number;
  /** Answered 4xx, or never clearly answered at all. */
  readonly refused: number;
  readonly repeats: Readonly<Repeats>;
  /** From the scheduled arrival. */
  readonly latencyMs: { readonly accept: Percentiles; readonly reply: Percentiles };
  /** Accepted messages a second, from the first send to the last reply. */
  readonly messagesPerSecond: number;
}

export interface LoadProgress {
  readonly planned: number;
  readonly sent: number;
  readonly accepted: number;
  readonly answered: number;
  readonly refused: number;
}

/** Runs one load and judges it. The report is complete whatever happens after the set-up; an abort stops sending and judges what there is. */
export async function runLoad(
  options: LoadOptions,
  onProgress: (progress: LoadProgress) => void,
  signal: AbortSignal,
): Promise<LoadReport> {
  const secret = `load-${randomBytes(24).toString('hex')}`;
  const run = new Run(options, onProgress);
  const receiver = await startReceiver(options.listenHost, secret, (arrival, atMs) => run.arrived(arrival.runId, atMs));
  const url = options.urls[0] ?? '';
  const sender = createSender(options.urls, { connections: options.connections, giveUpMs: options.giveUpMs });
  try {
    const targets = await setUp({ ...options, url, replyUrl: receiver.url, secret });
    await run.sendAll({ sender, targets, signal });
    await run.settle(signal);
    return run.report(receiver, sender);
  } finally {
    await sender.close();
    await receiver.close();
  }
}

interface Work {
  readonly sender: Sender;
  readonly targets: readonly LoadTarget[];
  readonly signal: AbortSignal;
}

/** The books of one run. */
class Run {
  readonly #options: LoadOptions;
  readonly #onProgress: (progress: LoadProgress) => void;
  readonly #name = randomBytes(4).toString('hex');
  readonly #sent: Sent[] = [];
  readonly #scheduledOf = new Map<string, number>();
  readonly #early = new Map<string, number>();
  readonly #accept: Histogram = build();
  readonly #reply: Histogram = build();
  readonly #planned: number;
  #started = 0;
  #accepted = 0;
  #refused = 0;
  #answered = 0;
  #firstSendMs = 0;
  #lastArrivalMs = 0;
  #lastReportMs = 0;

  constructor(options: LoadOptions, onProgress: (progress: LoadProgress) => void) {
    this.#options = options;
    this.#onProgress = onProgress;
    const { pace } = options;
    this.#planned = pace.kind === 'open' ? Math.round(pace.ratePerSecond * pace.seconds) : pace.messages;
  }

  async sendAll(work: Work): Promise<void> {
    const { signal } = work;
    const isOver = () => signal.aborted || this.#options.enough?.aborted === true;
    this.#firstSendMs = performance.now();
    const { pace } = this.#options;
    if (pace.kind === 'closed') {
      const loops = Array.from({ length: Math.min(pace.concurrency, this.#planned) }, async () => {
        while (this.#started < this.#planned && !isOver()) await this.#sendOne(work, performance.now());
      });
      await Promise.all(loops);
      return;
    }
    const inFlight = new Set<Promise<void>>();
    while (this.#started < this.#planned && !isOver()) {
      const due = Math.min(
        this.#planned,
        Math.floor(((performance.now() - this.#firstSendMs) * pace.ratePerSecond) / 1000) + 1,
      );
      while (this.#started < due && inFlight.size < IN_FLIGHT_MAX) {
        const scheduledMs = this.#firstSendMs + (this.#started * 1000) / pace.ratePerSecond;
        const one = this.#sendOne(work, scheduledMs).finally(() => inFlight.delete(one));
        inFlight.add(one);
      }
      await sleep(TICK_MS);
    }
    await Promise.all(inFlight);
  }

  async #sendOne({ sender, targets, signal }: Work, scheduledMs: number): Promise<void> {
    const i = this.#started++;
    const target = targets[i % targets.length];
    if (target === undefined) return;
    const lane = `load-${this.#name}-${Math.floor(i / targets.length) % this.#options.lanes}-${i % targets.length}`;
    const body = JSON.stringify({
      agentId: target.agent,
      accountId: target.account,
      sessionKey: lane,
      text: `message ${i} of ${this.#name}`,
    });
    const sentAtMs = performance.now();
    const outcome = await sender.send({ key: `${this.#name}-${i}`, apiKey: target.apiKey, body }, signal);
    const answeredAtMs = performance.now();
    if (outcome.kind === 'accepted') {
      this.#accepted++;
      this.#accept.recordValue(Math.round(Math.max(0, answeredAtMs - scheduledMs) * 1000));
      this.#sent.push({ lane, sentAtMs, acceptedAtMs: answeredAtMs, runId: outcome.runId });
      this.#scheduledOf.set(outcome.runId, scheduledMs);
      const early = this.#early.get(outcome.runId);
      if (early !== undefined) this.arrived(outcome.runId, early);
    } else {
      this.#refused++;
      this.#sent.push({ lane, sentAtMs, acceptedAtMs: null, runId: null });
    }
    this.#progress();
  }

  /** A reply came; it may be earlier than the answer to its own acceptance. */
  arrived(runId: string, atMs: number): void {
    this.#lastArrivalMs = Math.max(atMs, this.#lastArrivalMs);
    const scheduledMs = this.#scheduledOf.get(runId);
    if (scheduledMs === undefined) {
      this.#early.set(runId, atMs);
      return;
    }
    this.#scheduledOf.delete(runId);
    this.#early.delete(runId);
    this.#answered++;
    this.#reply.recordValue(Math.round(Math.max(0, atMs - scheduledMs) * 1000));
    this.#progress();
  }

  async settle(signal: AbortSignal): Promise<void> {
    let quietSinceMs = performance.now();
    while (this.#scheduledOf.size > 0 && !signal.aborted) {
      quietSinceMs = Math.max(quietSinceMs, this.#lastArrivalMs);
      if (performance.now() - quietSinceMs > this.#options.quietMs) return;
      await sleep(20);
      this.#progress();
    }
    // a second delivery of a run would come right behind the first: look a moment longer
    await sleep(300);
  }

  report(receiver: Receiver, { repeats }: Sender): LoadReport {
    const wallMs = Math.max(1, this.#lastArrivalMs - this.#firstSendMs);
    return {
      sent: this.#started,
      refused: this.#refused,
      repeats,
      ...judge(this.#sent, receiver.arrivals),
      latencyMs: { accept: percentiles(this.#accept), reply: percentiles(this.#reply) },
      messagesPerSecond: Math.round((this.#answered * 1000) / wallMs),
    };
  }

  #progress(): void {
    const now = performance.now();
    if (now - this.#lastReportMs < 100) return;
    this.#lastReportMs = now;
    this.#onProgress({
      planned: this.#planned,
      sent: this.#started,
      accepted: this.#accepted,
      answered: this.#answered,
      refused: this.#refused,
    });
  }
}

function percentiles(histogram: Histogram): Percentiles {
  const at = (percentile: number) => Math.round(histogram.getValueAtPercentile(percentile) / 10) / 100;
  return { p50: at(50), p95: at(95), p99: at(99), max: at(100) };
}
