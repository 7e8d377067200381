import { defineConfig, optionalSecret, optionalUrl, text } from '@turnkeeper/platform/config';

/** The model behind the demo tenant's agent `llm`; without an address there is no such agent. */
export const demoTable = defineConfig('The demo tenant of `turnkeeper up`', {
  baseUrl: optionalUrl({
    env: 'TURNKEEPER_OPENAI_BASE_URL',
    schemes: ['http:', 'https:'],
    help: 'An OpenAI-compatible endpoint; the demo tenant then gets an agent `llm` that uses it.',
  }),
  model: text({ env: 'TURNKEEPER_OPENAI_MODEL', default: 'gpt-4o-mini', help: 'The model of that agent.' }),
  apiKey: optionalSecret({ env: 'TURNKEEPER_OPENAI_API_KEY', help: 'The key of that endpoint.' }),
});
