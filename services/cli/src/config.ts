import { defineConfig, optionalSecret, optionalText, optionalUrl, text } from '@turnkeeper/platform/config';

/** What the command line reads: which cluster to talk to. Flags come before, a running `turnkeeper up` after. */
export const cliTable = defineConfig('The command line', {
  data: optionalText({
    env: 'TURNKEEPER_DATA',
    help: 'Data folder of `turnkeeper up`; `.data` of the checkout when unset.',
  }),
  url: optionalUrl({
    env: 'TURNKEEPER_URL',
    schemes: ['http:', 'https:'],
    help: 'Public address of an ingress.',
  }),
  key: optionalSecret({ env: 'TURNKEEPER_KEY', help: 'API key of a tenant.' }),
  adminUrl: optionalUrl({
    env: 'TURNKEEPER_ADMIN_URL',
    schemes: ['http:', 'https:'],
    help: 'Internal address of an ingress.',
  }),
  operatorKey: optionalSecret({ env: 'TURNKEEPER_OPERATOR_KEY', help: "An operator's key." }),
  postgresUrl: optionalUrl({
    env: 'TURNKEEPER_POSTGRES_URL',
    schemes: ['postgres:', 'postgresql:'],
    help: 'The database, for `migrate`, `verify` and `doctor`.',
  }),
  redisUrl: optionalUrl({ env: 'TURNKEEPER_REDIS_URL', schemes: ['redis:', 'rediss:'], help: 'Redis, for `doctor`.' }),
  natsUrl: optionalUrl({ env: 'TURNKEEPER_NATS_URL', schemes: ['nats:', 'tls:'], help: 'NATS, for `doctor`.' }),
});

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
