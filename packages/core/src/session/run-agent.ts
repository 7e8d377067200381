import type { Clock, Ids } from '../clock.ts';
import { AppError, type RunErrorCode, StoreError } from '../errors.ts';
import type { InputId, MessageId } from '../ids.ts';
import type { AgentConfig, AgentConfigs, AgentRuntimeConfig } from '../ports/configs.ts';
import type { AskResult, InputStore, Question } from '../ports/inputs.ts';
import type { ClaimedTurn } from '../ports/lane.ts';
import type { Counter, Histogram, Logger } from '../ports/runtime.ts';
import type { EarlierEvent, EarlierRequest, TranscriptEntry } from '../ports/transcripts.ts';
import { isSilent, UnlessSilent } from '../recovery/silence.ts';
import type { AgentCall, AgentReply, AgentRuntime } from './agent.ts';
import { isByMachine, loopOf } from './loop-budget.ts';
import type { RunningAgentTurn, TurnEnd } from './turn.ts';
import type { TurnStream } from './turn-stream.ts';

export interface RunAgentOptions {
  readonly agents: Pick<AgentConfigs, 'get'>;
  readonly runtimes: Readonly<Record<AgentRuntimeConfig['kind'], AgentRuntime>>;
  /** What a turn's session holds before it, at most what a model may be given. @throws StoreError */
  readonly transcriptBefore: (turn: ClaimedTurn) => Promise<readonly TranscriptEntry[]>;
  /** What came in a lane before an event; asked for what bots write. @throws StoreError */
  readonly earlierOf: (request: EarlierRequest) => Promise<readonly EarlierEvent[]>;
  readonly inputs: Pick<InputStore, 'ask' | 'resolvedFor'>;
  readonly stream: TurnStream;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  readonly metrics: AgentMetrics;
  /** A turn has asked a person; what it said of that is stored, and may have to be sent. */
  readonly onAsked: (turn: ClaimedTurn) => void;
  /** Told how long the agent took to its first text, milliseconds; what it thinks is none. */
  readonly onFirstText: (ms: number) => void;
}

export interface AgentMetrics {
  /** By `at`. */
  readonly staleFences: Counter;
  readonly toolCalls: Counter;
  readonly toolCallSeconds: Histogram;
}

/** A turn tries its agent this often in all, as long as nothing of it was shown. */
const TRIES_MAX = 3;
const RETRY_BASE_MS = 200;
const RETRY_CAP_MS = 5_000;

/**
 * Runs a turn's agent: its configuration as of now, then the runtime that it names, again after failures that may pass
 * and left nothing behind. Never rejects.
 */
export async function runAgent(turn: RunningAgentTurn, options: RunAgentOptions): Promise<TurnEnd> {
  const { claimed } = turn;
  const { tenantId } = claimed.lane;
  try {
    const config = await options.agents.get(tenantId, claimed.agentId);
    if (config === null) return failed('config_missing');
    if (turn.signal.aborted) return { how: 'lost' };
    turn.agentVersion = config.version;
    turn.runtime = config.runtime.kind;
    turn.limits = config;
    const loop = await loopOf(claimed, config.loops, options.earlierOf);
    if (loop !== null) return stopped(loop, turn, options.log);
    turn.hasBegun = true;
    options.stream.started(claimed, config.version);
    const said = await tryAgent(turn, config, options);
    return said.ask !== undefined ? await ask(turn, said.ask, options) : { how: 'replied', reply: said };
  } catch (error) {
    // Not the agent's fault: the events go back to their queue.
    if (error instanceof StoreError && error.retryable) return { how: 'given_back', reason: 'local_failure' };
    if (!turn.signal.aborted) report(error, turn, options.log);
    return failed(codeOf(error));
  }
}

async function tryAgent(turn: RunningAgentTurn, config: AgentConfig, options: RunAgentOptions): Promise<AgentReply> {
  const { clock, ids, runtimes, transcriptBefore } = options;
  const startedMs = clock.monotonicMs();
  let hasShown = false;
  let hasText = false;
  let words: UnlessSilent;
  const emit: AgentCall['emit'] = (text, kind) => {
    if (turn.signal.aborted) return;
    turn.active();
    if (text === '') return;
    if (kind !== 'reasoning' && !hasText) {
      hasText = true;
      options.onFirstText(clock.monotonicMs() - startedMs);
    }
    if (kind !== 'reasoning') return words.add(text);
    hasShown = true;
    options.stream.reasoning(turn.claimed, text);
  };
  const show = (text: string) => {
    hasShown = true;
    options.stream.text(turn.claimed, turn.messageId, text);
  };
  const history = () => transcriptBefore(turn.claimed);
  const { lane, resumeOf } = turn.claimed;
  const input = async () => (resumeOf === null ? null : options.inputs.resolvedFor(lane, resumeOf));
  for (let tryNumber = 1; ; tryNumber++) {
    turn.active();
    words = new UnlessSilent(show);
    try {
      const call = { turn: turn.claimed, config, tryNumber, history, input, signal: turn.signal, emit };
      const reply = await runtimes[config.runtime.kind].run(call);
      const autonomous = turn.claimed.events.every(isByMachine);
      if (!turn.signal.aborted) words.end({ isSilent: isSilent(reply.text, { autonomous }) });
      return reply;
    } catch (error) {
      const mayPass = error instanceof AppError && error.retryable && !hasShown && tryNumber < TRIES_MAX;
      if (!mayPass || turn.signal.aborted) throw error;
      const fullMs = Math.min(RETRY_CAP_MS, error.retryAfterMs ?? RETRY_BASE_MS * 2 ** (tryNumber - 1));
      await clock.sleep(fullMs * (0.5 + ids.random() / 2), turn.signal);
    }
  }
}

/**
 * The turn's row ends with the question: nothing is left to be written. Repeated until it is answered, like a commit, for as
 * long as the turn may run; the same ids make an earlier try, whose answer was lost, the one that counts.
 */
async function ask(turn: RunningAgentTurn, question: Question, options: RunAgentOptions): Promise<TurnEnd> {
  const { claimed, signal } = turn;
  const { clock, ids, metrics, stream } = options;
  const { lane, fence } = claimed;
  const made = {
    inputId: ids.next() as InputId,
    messageId: ids.next() as MessageId,
    stepId: ids.next() as MessageId,
  };
  const startedMs = clock.monotonicMs();
  const asked = await untilAsked(() => options.inputs.ask({ lane, fence, ...made, question }), signal, options);
  if (asked?.result === 'stale') metrics.staleFences.inc({ at: 'ask' });
  if (asked === null || asked.result === 'stale') return { how: 'lost' };
  if (question.call !== undefined) {
    metrics.toolCalls.inc();
    metrics.toolCallSeconds.observe((clock.monotonicMs() - startedMs) / 1000);
  }
  stream.asked(claimed, { ...asked, inputId: made.inputId, question });
  options.onAsked(claimed);
  return { how: 'lost' };
}

/** Null: the turn was ended meanwhile. */
async function untilAsked(
  attempt: () => Promise<AskResult>,
  signal: AbortSignal,
  { clock, ids }: RunAgentOptions,
): Promise<AskResult | null> {
  for (let waitMs = RETRY_BASE_MS; !signal.aborted; waitMs = Math.min(RETRY_CAP_MS, waitMs * 2)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof StoreError) || !error.retryable) throw error;
      await clock.sleep(waitMs * (0.5 + ids.random() / 2), signal);
    }
  }
  return null;
}

function stopped(code: RunErrorCode, { claimed }: RunningAgentTurn, log: Logger): TurnEnd {
  const { lane, fence } = claimed;
  const about = { tenantId: lane.tenantId, laneId: lane.laneId, turnId: fence.turnId, code };
  log.warn(about, 'a loop that no person takes part in was stopped');
  return failed(code);
}

function failed(code: RunErrorCode): TurnEnd {
  return { how: 'failed', status: 'error', code };
}

const RUN_ERROR_CODES: ReadonlySet<string> = new Set<RunErrorCode>([
  'model_error',
  'model_rate_limited',
  'model_auth',
  'model_refused',
  'context_overflow',
  'tool_loop',
  'agent_unreachable',
  'agent_bad_response',
  'agent_error',
  'config_missing',
  'input_expired',
  'egress_blocked',
]);

function isRunErrorCode(code: string): code is RunErrorCode {
  return RUN_ERROR_CODES.has(code);
}

function codeOf(error: unknown): RunErrorCode {
  return error instanceof AppError && isRunErrorCode(error.code) ? error.code : 'internal';
}

function report(error: unknown, { claimed }: RunningAgentTurn, log: Logger): void {
  const about = { tenantId: claimed.lane.tenantId, laneId: claimed.lane.laneId, turnId: claimed.fence.turnId };
  if (codeOf(error) === 'internal') log.failed(error, about, 'a turn failed in a way nobody foresaw');
  else log.warn({ ...about, code: codeOf(error) }, 'a turn ended with an error');
}
