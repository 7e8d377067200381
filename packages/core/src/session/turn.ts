import type { Clock, Ids } from '../clock.ts';
import type { RunErrorCode } from '../errors.ts';
import type { MessageId, TurnId } from '../ids.ts';
import type { ClaimedTurn, HandBackRequest } from '../ports/lane.ts';
import { drainStep, handOverReason, isWedged } from '../recovery/drain.ts';
import type { AgentReply } from './agent.ts';

/** How a turn ended here, and so what is to be written. */
export type TurnEnd =
  | { readonly how: 'replied'; readonly reply: AgentReply }
  | { readonly how: 'failed'; readonly status: 'error' | 'timeout'; readonly code: RunErrorCode }
  /** The row does not say that it runs, or this worker is dead: nothing. */
  | { readonly how: 'lost' }
  | { readonly how: 'given_back'; readonly reason: HandBackRequest['reason'] };

/** Milliseconds; null = none of its own. */
export interface TurnLimits {
  readonly turnMsMax: number | null;
  readonly inactiveMsMax: number | null;
}

/** A turn that this worker runs. */
export interface RunningAgentTurn {
  readonly claimed: ClaimedTurn;
  /** Of the reply, so that deltas can name it. */
  readonly messageId: MessageId;
  readonly signal: AbortSignal;
  /** Of the agent's configuration, once it is known. */
  agentVersion: number | null;
  runtime: string;
  /** Its agent was asked, so something of it may have left this process. */
  hasBegun: boolean;
  /** The agent's own limits, once they are known; the worker's hold beside them. */
  limits: TurnLimits | null;
  /** The agent did something: the inactivity limit starts anew. */
  active(): void;
}

export interface TurnsOptions {
  readonly clock: Clock;
  readonly ids: Ids;
  /** From the claim to the end, whatever the agent does. */
  readonly turnMsMax: number;
  /** Between two signs of life of the agent. */
  readonly inactiveMsMax: number;
  /** Runs the agent. Whatever it throws ends the turn with an error. */
  readonly answer: (turn: RunningAgentTurn) => Promise<TurnEnd>;
}

/**
 * The turns of this worker, by the ids that it makes before it claims.
 *
 * ```
 *  announce ─► (claim is under way) ─► run ─► agent at work ─► ended ─► (commit or hand-back is under way) ─► forget
 *                     │ stop                        ▲
 *                     └─► remembered: run ends ─────┘ ended by whatever comes first: the agent's answer, a signal or a
 *                         at once as `lost`           poll that names the turn, a limit, the drain, own death
 * ```
 * A turn is ended once, and nobody waits for an agent that ignores its abort: the lane goes on, the late answer is
 * dropped. A turn costs a promise and an AbortController; its limits are looked at by `expire`, for all turns at once.
 */
export class Turns {
  readonly #options: TurnsOptions;
  readonly #known = new Map<TurnId, 'announced' | 'stopped' | Turn>();
  #running = 0;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** Turns whose agent is at work. */
  get running(): number {
    return this.#running;
  }

  /** A turn id exists from before its claim is sent, so that a stop that overtakes the claim's answer is kept. */
  announce(turnId: TurnId): void {
    this.#known.set(turnId, 'announced');
  }

  /** True from `announce` to `forget`. */
  knows(turnId: TurnId): boolean {
    return this.#known.has(turnId);
  }

  /** Nothing is left to be written for this turn, or it never began. */
  forget(turnId: TurnId): void {
    this.#known.delete(turnId);
  }

  /** Runs a claimed turn to its end. Never rejects. */
  async run(claimed: ClaimedTurn): Promise<{ readonly turn: RunningAgentTurn; readonly end: TurnEnd }> {
    const { clock, ids, answer } = this.#options;
    const { turnId } = claimed.fence;
    const turn = new Turn(claimed, ids.next() as MessageId, clock);
    const stopped = this.#known.get(turnId) === 'stopped';
    this.#known.set(turnId, turn);
    if (stopped) return { turn, end: { how: 'lost' } };
    this.#running++;
    answer(turn).then(
      (end) => turn.finish(end),
      () => turn.finish({ how: 'failed', status: 'error', code: 'internal' }),
    );
    const end = await turn.ended;
    this.#running--;
    return { turn, end };
  }

  /** A signal or a row that names the turn. Of unknown turns nothing is remembered. True when this ended its agent. */
  stop(turnId: TurnId): boolean {
    const known = this.#known.get(turnId);
    if (known === 'announced') this.#known.set(turnId, 'stopped');
    return known instanceof Turn && known.finish({ how: 'lost' });
  }

  /** Turns whose agent is at work now: a poll asks for their rows. */
  atWork(): ClaimedTurn[] {
    const claimed: ClaimedTurn[] = [];
    for (const turn of this.#known.values()) if (turn instanceof Turn && !turn.isOver) claimed.push(turn.claimed);
    return claimed;
  }

  /** Ends the turns that passed a limit. Called several times a second. */
  expire(): void {
    const { clock, turnMsMax, inactiveMsMax } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const turn of this.#known.values()) {
      if (!(turn instanceof Turn)) continue;
      if (nowMs - turn.startedMs >= Math.min(turnMsMax, turn.limits?.turnMsMax ?? turnMsMax)) {
        turn.finish(limit('turn_timeout'));
      } else if (isWedged(nowMs - turn.activeMs, turn.inactiveMsMax(inactiveMsMax))) {
        turn.finish(limit('inactivity_timeout'));
      }
    }
  }

  /** Hands over the turns that a drain does not wait for: all of them when its time is over. Called several times a second. */
  drain(kind: Parameters<typeof handOverReason>[0], isOver: boolean): void {
    const { clock, inactiveMsMax } = this.#options;
    const nowMs = clock.monotonicMs();
    const turns = [...this.#known.values()].filter((turn) => turn instanceof Turn);
    const atWork = turns
      .filter((turn) => !turn.isOver)
      .map((turn) => ({ turn, idleMs: nowMs - turn.activeMs, inactiveMsMax: turn.inactiveMsMax(inactiveMsMax) }));
    const end = { how: 'given_back', reason: handOverReason(kind) } as const;
    for (const { turn } of drainStep(atWork, isOver).handOver) turn.finish(end);
  }

  /** Ends every turn in the same way, as own death does. */
  endAll(end: TurnEnd): void {
    for (const turn of this.#known.values()) if (turn instanceof Turn) turn.finish(end);
  }
}

function limit(code: RunErrorCode): TurnEnd {
  return { how: 'failed', status: 'timeout', code };
}

class Turn implements RunningAgentTurn {
  readonly claimed: ClaimedTurn;
  readonly messageId: MessageId;
  readonly startedMs: number;
  agentVersion: number | null = null;
  runtime = 'none';
  hasBegun = false;
  limits: TurnLimits | null = null;
  activeMs: number;
  isOver = false;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #ended = Promise.withResolvers<TurnEnd>();

  constructor(claimed: ClaimedTurn, messageId: MessageId, clock: Clock) {
    this.claimed = claimed;
    this.messageId = messageId;
    this.#clock = clock;
    this.startedMs = clock.monotonicMs();
    this.activeMs = this.startedMs;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get ended(): Promise<TurnEnd> {
    return this.#ended.promise;
  }

  active(): void {
    this.activeMs = this.#clock.monotonicMs();
  }

  /** Its agent's own limit, or the worker's where that is narrower. */
  inactiveMsMax(ofWorkerMs: number): number {
    return Math.min(ofWorkerMs, this.limits?.inactiveMsMax ?? ofWorkerMs);
  }

  /** The first end counts. */
  finish(end: TurnEnd): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    this.#ended.resolve(end);
    if (end.how !== 'replied') this.#abort.abort();
    return true;
  }
}
