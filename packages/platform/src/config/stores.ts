import { text, url } from './option.ts';

/** Where the three stores are, and the prefix that keeps clusters apart: rows of every service's table. */
export function storeOptions() {
  return {
    postgresUrl: url({
      env: 'TURNKEEPER_POSTGRES_URL',
      schemes: ['postgres:', 'postgresql:'],
      help: 'The database. Its login must be a member of the roles that `turnkeeper migrate` makes.',
    }),
    redisUrl: url({
      env: 'TURNKEEPER_REDIS_URL',
      schemes: ['redis:', 'rediss:'],
      help: 'Redis 7 or later with `maxmemory-policy noeviction`. May be away: costs latency, nothing else.',
    }),
    natsUrl: url({
      env: 'TURNKEEPER_NATS_URL',
      schemes: ['nats:', 'tls:'],
      help: 'NATS 2.9 or later, core only. May be away: costs latency and live text, nothing else.',
    }),
    prefix: text({
      env: 'TURNKEEPER_PREFIX',
      default: 'tk',
      pattern: /^[a-z][a-z0-9_-]{0,31}$/,
      kind: 'a word of a-z, 0-9, _ and -, up to 32 characters',
      help: 'Prefix of Redis keys and NATS subjects: clusters that share them need one each.',
    }),
  };
}
