import { type ConfigOf, defineConfig, integer, secret, storeOptions, text } from '@turnkeeper/platform/config';
import { egressOptions } from '@turnkeeper/platform/egress';
import { internalListenerOptions } from '@turnkeeper/platform/process';

/** What a session-worker reads from the environment. */
export const sessionWorkerTable = defineConfig('session-worker', {
  ...internalListenerOptions({ port: 8422 }),
  ...storeOptions(),
  masterKey: secret({
    env: 'TURNKEEPER_MASTER_KEY',
    kind: '32 bytes as base64 or hex',
    help: 'Wraps the keys that seal the secrets of agents and accounts. All nodes need the same.',
  }),
  turnSlots: integer({
    env: 'TURNKEEPER_WORKER_SLOTS',
    default: 2000,
    min: 1,
    max: 100_000,
    help: 'Turns that this worker may run at once. One tenant gets three quarters of them at most.',
  }),
  lanesMax: integer({
    env: 'TURNKEEPER_WORKER_LANES_MAX',
    default: 100_000,
    min: 100,
    max: 2_000_000,
    help: 'Lanes with work that this worker keeps in memory; those above it wait in the database.',
  }),
  turnMsMax: integer({
    env: 'TURNKEEPER_TURN_TIMEOUT_MS',
    default: 1_800_000,
    min: 1_000,
    max: 86_400_000,
    unit: 'ms',
    help: 'A turn that takes longer ends with `turn_timeout`.',
  }),
  inactiveMsMax: integer({
    env: 'TURNKEEPER_TURN_INACTIVITY_MS',
    default: 300_000,
    min: 1_000,
    max: 86_400_000,
    unit: 'ms',
    help: 'A turn whose agent gives no sign of life for so long ends with `inactivity_timeout`.',
  }),
  historyMax: integer({
    env: 'TURNKEEPER_HISTORY_MESSAGES_MAX',
    default: 500,
    min: 1,
    max: 10_000,
    help: 'Messages of the session that a model is given at most.',
  }),
  memoryHigh: text({
    env: 'TURNKEEPER_MEMORY_HIGH_MB',
    default: 'auto',
    pattern: /^(auto|off|[1-9]\d{0,6})$/,
    kind: '`auto`, `off` or MiB',
    help: 'Above it the worker gives up transcripts that it keeps to save reads. `auto`: 65 % of the limit of its container.',
  }),
  sendsMax: integer({
    env: 'TURNKEEPER_SENDS_MAX',
    default: 1024,
    min: 1,
    max: 100_000,
    help: 'Replies that this worker may be sending at once. One account gets a quarter of them at most.',
  }),
  ...egressOptions(),
  enginePoolMax: integer({
    env: 'TURNKEEPER_ENGINE_POOL_MAX',
    default: 6,
    min: 2,
    max: 100,
    help: 'Database connections for claims, commits, deliveries and scans; heartbeats have two of their own.',
  }),
});

export type SessionWorkerConfig = ConfigOf<typeof sessionWorkerTable>;
