import {
  type ConfigOf,
  defineConfig,
  integer,
  optionalSecret,
  optionalText,
  secret,
  storeOptions,
  text,
} from '@turnkeeper/platform/config';
import { internalListenerOptions } from '@turnkeeper/platform/process';

/** What ingress reads from the environment. */
export const ingressTable = defineConfig('ingress', {
  host: text({
    env: 'TURNKEEPER_HOST',
    default: '127.0.0.1',
    help: 'Address of the public listener: /v1 and /hooks.',
  }),
  port: integer({
    env: 'TURNKEEPER_PORT',
    default: 8420,
    min: 0,
    max: 65_535,
    help: 'Port of the public listener; 0 = any free one.',
  }),
  ...internalListenerOptions({ port: 8421 }),
  lameDuckMs: integer({
    env: 'TURNKEEPER_LAME_DUCK_MS',
    default: 5_000,
    min: 0,
    max: 300_000,
    unit: 'ms',
    help: 'After SIGTERM `/readyz` says 503 at once, and for so long the node still takes requests, on connections that each end with the answer: longer than load balancers take to see it.',
  }),
  ...storeOptions(),
  keyPepper: secret({
    env: 'TURNKEEPER_KEY_PEPPER',
    pattern: /^.{16,}$/s,
    kind: 'text of at least 16 characters',
    help: 'API keys are stored as HMAC under it. All nodes need the same; another one makes every key invalid.',
  }),
  masterKey: secret({
    env: 'TURNKEEPER_MASTER_KEY',
    kind: '32 bytes as base64 or hex',
    help: 'Wraps the keys that seal the secrets of agents and accounts. All nodes need the same.',
  }),
  operatorKey: optionalSecret({
    env: 'TURNKEEPER_OPERATOR_KEY',
    pattern: /^tkop_[a-z0-9]{8,32}_[A-Za-z0-9]{32,}$/,
    kind: '`tkop_<id>_<secret>`',
    help: 'An operator key that works besides those in the database: for the first set-up.',
  }),
  enginePoolMax: integer({
    env: 'TURNKEEPER_ENGINE_POOL_MAX',
    default: 4,
    min: 1,
    max: 100,
    help: 'Database connections for accepting, cancelling and waiting.',
  }),
  readPoolMax: integer({
    env: 'TURNKEEPER_READ_POOL_MAX',
    default: 4,
    min: 1,
    max: 100,
    help: 'Database connections for reads of tenants; operators and configuration have two each besides.',
  }),
  waitersMax: integer({
    env: 'TURNKEEPER_WAITERS_MAX',
    default: 20_000,
    min: 1,
    max: 1_000_000,
    help: 'Calls and streams that may wait for runs on this node. One tenant gets three quarters of them at most; above it they are answered 429.',
  }),
  fileBytesMax: integer({
    env: 'TURNKEEPER_UPLOAD_BYTES_MAX',
    default: 20 * 1024 * 1024,
    min: 1024,
    max: 256 * 1024 * 1024,
    unit: 'bytes',
    help: 'Size of a file that is uploaded; a larger one is answered 413.',
  }),
  tenantFileBytesMax: integer({
    env: 'TURNKEEPER_TENANT_FILE_BYTES_MAX',
    default: 5 * 1024 * 1024 * 1024,
    min: 1024,
    max: Number.MAX_SAFE_INTEGER,
    unit: 'bytes',
    help: 'What the files of one tenant may hold together; above it uploads are answered 429.',
  }),
  uploadsMax: integer({
    env: 'TURNKEEPER_UPLOADS_MAX',
    default: 64,
    min: 1,
    max: 10_000,
    help: 'Files that may be coming in at once on this node, each with 256 KiB of memory. One tenant gets three quarters of them at most; above it they are answered 503.',
  }),
  streamsMax: integer({
    env: 'TURNKEEPER_STREAMS_MAX',
    default: 10_000,
    min: 1,
    max: 1_000_000,
    help: 'Live streams that may be open on this node. One tenant gets three quarters of them at most; above it they are answered 429.',
  }),
  chatFolder: optionalText({
    env: 'TURNKEEPER_CHAT_FOLDER',
    help: 'Where the built chat page is (`node services/dashboard/build.ts` prints it). Unset: `/chat` is not served.',
  }),
  chatGuests: optionalText({
    env: 'TURNKEEPER_CHAT_GUESTS',
    help: '`<tenant>.<account>` of a web chat that anybody who opens `/chat` may use. Unset: nobody without a client token.',
  }),
  chatFrames: text({
    env: 'TURNKEEPER_CHAT_FRAMES',
    default: "'self'",
    help: 'Which pages may show `/chat` in a frame: sources of `frame-ancestors`, with spaces between.',
  }),
});

export type IngressConfig = ConfigOf<typeof ingressTable>;
