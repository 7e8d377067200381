import type { Clock, Ids } from '../clock.ts';
import { AppError, type RunErrorCode, StoreError } from '../errors.ts';
import type { InputId, MessageId } from '../ids.ts';
import type { AgentConfig, AgentConfigs, AgentRuntimeConfig } from '../ports/configs.ts';
import type { InputStore, Question } from '../ports/inputs.ts';
import type { ClaimedTurn } from '../ports/lane.ts';
import type { Logger } from '../ports/runtime.ts';
import type { TranscriptEntry } from '../ports/transcripts.ts';
import type { AgentReply, AgentRuntime } from './agent.ts';
import type { RunningAgentTurn, TurnEnd } from './turn.ts';
import type { TurnStream } from './turn-stream.ts';

export interface RunAgentOptions {
  readonly agents: Pick<AgentConfigs, 'get'>;
  readonly runtimes: Readonly<Record<AgentRuntimeConfig['kind'], AgentRuntime>>;
  /** What a turn's session holds before it, at most what a model may be given. @throws StoreError */
  readonly transcriptBefore: (turn: ClaimedTurn) => Promise<readonly TranscriptEntry[]>;
  readonly inputs: Pick<InputStore, 'ask' | 'resolvedFor'>;
  readonly stream: TurnStream;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Logger;
  /** Told how long the agent took to its first text, milliseconds. */
  readonly onFirstText: (ms: number) => void;
}

/** A turn tries its agent this often in all, as long as no text has come. */
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
  let hasText = false;
  const emit = (text: string): void => {
    if (turn.signal.aborted) return;
    turn.active();
    if (!hasText) options.onFirstText(clock.monotonicMs() - startedMs);
    hasText = true;
    options.stream.text(turn.claimed, turn.messageId, text);
  };
  const history = () => transcriptBefore(turn.claimed);
  const { lane, resumeOf } = turn.claimed;
  const input = async () => (resumeOf === null ? null : options.inputs.resolvedFor(lane, resumeOf));
  for (let tryNumber = 1; ; tryNumber++) {
    turn.active();
    try {
      const call = { turn: turn.claimed, config, tryNumber, history, input, signal: turn.signal, emit };
      return await runtimes[config.runtime.kind].run(call);
    } catch (error) {
      const mayPass = error instanceof AppError && error.retryable && !hasText && tryNumber < TRIES_MAX;
      if (!mayPass || turn.signal.aborted) throw error;
      const fullMs = Math.min(RETRY_CAP_MS, error.retryAfterMs ?? RETRY_BASE_MS * 2 ** (tryNumber - 1));
      await clock.sleep(fullMs * (0.5 + ids.random() / 2), turn.signal);
    }
  }
}

/** The turn's row ends with the question: nothing is left to be written. */
async function ask({ claimed, signal }: RunningAgentTurn, question: Question, { inputs, ids }: RunAgentOptions) {
  const { lane, fence } = claimed;
  if (!signal.aborted) {
    const made = { inputId: ids.next() as InputId, messageId: ids.next() as MessageId };
    await inputs.ask({ lane, fence, ...made, question });
  }
  return { how: 'lost' } as const;
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
