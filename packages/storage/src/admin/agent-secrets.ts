import type { AgentDraft } from '@turnkeeper/core';
import type { Secrets } from '../seal/sealing.ts';
import { invalidConfig } from './change.ts';

/**
 * The secrets that a draft leaves an agent with. A key that is not given again stays, but goes to no other server: who may
 * change an agent could send it to his own and read it there. An agent without a model has none.
 * @throws AppError `config_invalid`
 */
export function agentSecrets(
  { settings, secrets }: Pick<AgentDraft, 'settings' | 'secrets'>,
  before: { readonly config: AgentDraft['settings']; readonly secrets: Secrets } | null,
): Secrets {
  if (settings.runtime !== 'openai') return {};
  const isKept = before?.secrets['apiKey'] !== undefined && secrets['apiKey'] === undefined;
  if (isKept && serverOf(before.config) !== serverOf(settings)) {
    const message = 'The key of the model was given for another server: give apiKey together with the new baseUrl.';
    throw invalidConfig('/openai/apiKey', 'missing_field', message);
  }
  return { ...before?.secrets, ...secrets };
}

function serverOf({ openai }: AgentDraft['settings']): string | null {
  return openai === undefined || openai === null ? null : new URL(openai.baseUrl).origin;
}
