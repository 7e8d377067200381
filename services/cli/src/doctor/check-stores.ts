import { StoreError } from '@turnkeeper/core';
import { type DatabaseReport, inspectDatabase, SCHEMA_RANGE } from '@turnkeeper/storage';
import { sentenceOf } from '../exit.ts';
import { askServer } from './ask-server.ts';
import { type Finding, isAtLeast } from './finding.ts';

const POSTGRES_MIN = 150_000;
const NATS_MIN = [2, 9];
const REDIS_MIN = [7, 0];

/** The database: reachable, new enough, safe settings, our schema, bound roles. */
export async function checkPostgres(url: string): Promise<Finding[]> {
  try {
    const report = await inspectDatabase(url);
    return [serverFinding(report), durabilityFinding(report), schemaFinding(report), rolesFinding(report)];
  } catch (err) {
    const found = err instanceof StoreError ? `no answer (${err.state})` : sentenceOf(err);
    return [{ name: 'Postgres', state: 'bad', found, advice: 'start it, or correct TURNKEEPER_POSTGRES_URL' }];
  }
}

function serverFinding({ versionNumber }: DatabaseReport): Finding {
  const found = `${Math.floor(versionNumber / 10_000)}.${versionNumber % 10_000}`;
  if (versionNumber >= POSTGRES_MIN) return { name: 'Postgres', state: 'ok', found };
  return { name: 'Postgres', state: 'bad', found, advice: 'upgrade to 15 or later' };
}

function durabilityFinding({ fsync, synchronousCommit }: DatabaseReport): Finding {
  const found = `fsync ${fsync ? 'on' : 'off'}, synchronous_commit ${synchronousCommit}`;
  if (fsync && synchronousCommit !== 'off') return { name: 'durability', state: 'ok', found };
  return { name: 'durability', state: 'bad', found, advice: 'turn both on: else an accepted message may be lost' };
}

function schemaFinding({ schemaVersion, oldestProgram }: DatabaseReport): Finding {
  const name = 'schema';
  const found = schemaVersion === 0 ? 'none' : String(schemaVersion);
  if (schemaVersion < SCHEMA_RANGE.min) return { name, state: 'bad', found, advice: 'run: turnkeeper migrate' };
  if (oldestProgram > SCHEMA_RANGE.max) return { name, state: 'bad', found, advice: 'use a newer turnkeeper' };
  return { name, state: 'ok', found };
}

function rolesFinding({ unboundRoles, openTables }: DatabaseReport): Finding {
  const name = 'tenant isolation';
  if (unboundRoles.length > 0) {
    const advice = `alter role ${unboundRoles[0]} nosuperuser nobypassrls`;
    return { name, state: 'bad', found: `not bound by row-level security: ${unboundRoles.join(', ')}`, advice };
  }
  if (openTables.length > 0) {
    const advice = `alter table tk.${openTables[0]} force row level security`;
    return { name, state: 'bad', found: `tables without it: ${openTables.join(', ')}`, advice };
  }
  return { name, state: 'ok', found: 'row-level security binds every role' };
}

/** Redis: reachable, new enough, evicts nothing. Its absence costs latency only. */
export async function checkRedis(address: string | null): Promise<Finding> {
  if (address === null) return notGiven('Redis', 'TURNKEEPER_REDIS_URL');
  try {
    const url = new URL(address);
    const auth =
      url.password === '' ? '' : command('AUTH', ...(url.username ? [decode(url.username)] : []), decode(url.password));
    const answer = await askServer({
      ...{ url, port: 6379, tls: url.protocol === 'rediss:' },
      question: auth + command('INFO', 'server') + command('CONFIG', 'GET', 'maxmemory-policy') + command('PING'),
      whole: (text) => text.includes('+PONG') || text.includes('-NOAUTH') || text.includes('-WRONGPASS'),
    });
    return redisFinding(
      /redis_version:([\d.]+)/.exec(answer)?.[1],
      /maxmemory-policy\r\n\$\d+\r\n([\w-]+)/.exec(answer)?.[1],
    );
  } catch (err) {
    return away(
      'Redis',
      err,
      'turns start later (up to 2 s) until it is back; start it, or correct TURNKEEPER_REDIS_URL',
    );
  }
}

function redisFinding(version: string | undefined, policy: string | undefined): Finding {
  const name = 'Redis';
  if (version === undefined)
    return { name, state: 'bad', found: 'refuses the password', advice: 'correct TURNKEEPER_REDIS_URL' };
  const found = `${version}, ${policy ?? 'policy not told'}`;
  if (!isAtLeast(version, REDIS_MIN)) return { name, state: 'bad', found, advice: 'upgrade to 7 or later' };
  if (policy === undefined || policy === 'noeviction') return { name, state: 'ok', found };
  return { name, state: 'bad', found, advice: 'run: redis-cli config set maxmemory-policy noeviction' };
}

/** NATS: reachable, new enough. Its absence costs latency and live text only. */
export async function checkNats(address: string | null): Promise<Finding> {
  if (address === null) return notGiven('NATS', 'TURNKEEPER_NATS_URL');
  try {
    // the server speaks first, in the clear, also where the rest is TLS
    const greeting = await askServer({
      url: new URL(address),
      port: 4222,
      tls: false,
      question: '',
      whole: (text) => text.includes('\r\n'),
    });
    const found = /"version":"([\d.]+)/.exec(greeting)?.[1] ?? 'not a NATS server';
    if (isAtLeast(found, NATS_MIN)) return { name: 'NATS', state: 'ok', found };
    return { name: 'NATS', state: 'bad', found, advice: 'upgrade to 2.9 or later' };
  } catch (err) {
    return away('NATS', err, 'text is not live until it is back; start it, or correct TURNKEEPER_NATS_URL');
  }
}

function away(name: string, err: unknown, advice: string): Finding {
  const code =
    err instanceof Error && 'code' in err ? String(err.code) : err instanceof Error ? err.message : 'unknown';
  return { name, state: 'warn', found: `no answer (${code})`, advice };
}

function notGiven(name: string, variable: string): Finding {
  return { name, state: 'unknown', found: 'address not known', advice: `set ${variable}, or start with: npm start` };
}

function command(...words: string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}

function decode(part: string): string {
  return decodeURIComponent(part);
}
