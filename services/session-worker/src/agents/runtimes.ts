import type { AgentRuntime, Clock, RunAgentOptions } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';
import { ByteBudget } from './byte-budget.ts';
import { echoRuntime } from './echo.ts';
import type { ModelFilesOptions } from './model-files.ts';
import { type OpenAiOptions, openAiRuntime } from './openai.ts';

/** What all turns of a worker hold of files at once; a request's encoding takes the same again. */
const FILE_BYTES_MAX = 128 * 1024 * 1024;
/** And those of one tenant: a few turns full of pictures. */
const TENANT_FILE_BYTES_MAX = FILE_BYTES_MAX / 4;

export interface RuntimesOptions extends Omit<OpenAiOptions, 'files'>, Pick<ModelFilesOptions, 'attachments'> {
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'counter'>;
}

/**
 * Every way to run agents, by the name that a configuration gives. None keeps anything between two calls, so a new
 * version of an agent, or of its secrets, is all that it takes.
 */
export function agentRuntimes(options: RuntimesOptions): RunAgentOptions['runtimes'] {
  const budget = new ByteBudget({ bytesMax: FILE_BYTES_MAX, tenantBytesMax: TENANT_FILE_BYTES_MAX });
  const files = { attachments: options.attachments, clock: options.clock, budget };
  const requests = options.metrics.counter('agent_requests_total');
  const tokens = options.metrics.counter('agent_tokens_total');
  const counted = (runtime: AgentRuntime): AgentRuntime => ({
    async run(call) {
      requests.inc();
      const reply = await runtime.run(call);
      if (reply.usage?.inputTokens) tokens.inc({ direction: 'input' }, reply.usage.inputTokens);
      if (reply.usage?.outputTokens) tokens.inc({ direction: 'output' }, reply.usage.outputTokens);
      return reply;
    },
  });
  return { echo: counted(echoRuntime(options.clock)), openai: counted(openAiRuntime({ ...options, files })) };
}
