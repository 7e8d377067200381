import { CompletionRequestSchema, CompletionSchema, ModelListSchema } from '../http/chat-completions.ts';
import { NoQuerySchema } from '../http/fields.ts';
import type { Operation } from './operation.ts';

/** For clients of OpenAI's API. */
export const CHAT_COMPLETIONS: readonly Operation[] = [
  {
    method: 'get',
    path: '/v1/models',
    id: 'listModels',
    summary: 'List the agents as models, for clients of OpenAI',
    door: 'messages:write',
    query: NoQuerySchema,
    answers: { 200: ModelListSchema },
    refusals: 'openai',
  },
  {
    method: 'post',
    path: '/v1/chat/completions',
    id: 'createChatCompletion',
    summary: 'Say something to an agent and get its answer, for clients of OpenAI',
    door: 'messages:write',
    query: NoQuerySchema,
    headers: ['X-Session-Key'],
    body: CompletionRequestSchema,
    answers: { 200: [CompletionSchema, 'events'] },
    idempotent: true,
    refusals: 'openai',
    errors: [
      ...(['malformed_key', 'agent_not_found', 'lane_full', 'tenant_queue_full', 'too_many_streams'] as const),
      ...(['run_final', 'gone', 'agent_unreachable', 'agent_bad_response', 'deadline_exceeded'] as const),
    ],
  },
];
