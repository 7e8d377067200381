import { defineConfig, optionalUrl, text } from '../config/index.ts';

/** What `turnkeeper up` and the tests read to find or start services. */
export const localServicesTable = defineConfig('Local services (`turnkeeper up` and the tests)', {
  postgres: optionalUrl({
    env: 'TURNKEEPER_POSTGRES_URL',
    schemes: ['postgres:', 'postgresql:'],
    help: 'Use this Postgres instead of starting one.',
  }),
  redis: optionalUrl({
    env: 'TURNKEEPER_REDIS_URL',
    schemes: ['redis:', 'rediss:'],
    help: 'Use this Redis instead of starting one.',
  }),
  nats: optionalUrl({
    env: 'TURNKEEPER_NATS_URL',
    schemes: ['nats:', 'tls:'],
    help: 'Use this NATS instead of starting one.',
  }),
  postgresImage: text({
    env: 'TURNKEEPER_POSTGRES_IMAGE',
    default: 'postgres:18',
    help: 'Image of Postgres where a Docker engine answers.',
  }),
  redisImage: text({
    env: 'TURNKEEPER_REDIS_IMAGE',
    default: 'redis:7',
    help: 'Image of Redis where a Docker engine answers.',
  }),
  natsImage: text({
    env: 'TURNKEEPER_NATS_IMAGE',
    default: 'nats:2',
    help: 'Image of NATS where a Docker engine answers.',
  }),
});
