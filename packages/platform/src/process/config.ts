import { hostname } from 'node:os';
import { type ConfigOf, choice, defineConfig, integer, optionalText, text } from '../config/index.ts';

/** What every process reads, whatever it is. */
export const processTable = defineConfig('Every process', {
  logLevel: choice({
    env: 'TURNKEEPER_LOG_LEVEL',
    words: ['debug', 'info', 'warn', 'error', 'silent'],
    default: 'info',
    help: 'Lowest level that is logged.',
  }),
  nodeName: optionalText({
    env: 'TURNKEEPER_NODE_NAME',
    pattern: /^[A-Za-z0-9._-]{1,128}$/,
    kind: 'a name of letters, digits, `.`, `_` and `-`',
    help: "A name for people, shown in lists (a pod's name); the host's name when unset. Never an identity.",
  }),
  drainTimeoutMs: integer({
    env: 'TURNKEEPER_DRAIN_TIMEOUT_MS',
    default: 120_000,
    min: 0,
    max: 86_400_000,
    unit: 'ms',
    help: 'After SIGTERM, how long work in flight may take to finish before it is handed back.',
  }),
  stuckMs: integer({
    env: 'TURNKEEPER_STUCK_MS',
    default: 30_000,
    min: 0,
    max: 3_600_000,
    unit: 'ms',
    help: 'A process in which work is there and does not move, or a client will never connect again, is not ready after half of this, and ends with exit code 70 after all of it. 0 = never.',
  }),
  loopBlockedMs: integer({
    env: 'TURNKEEPER_LOOP_BLOCKED_MS',
    default: 15_000,
    min: 0,
    max: 3_600_000,
    unit: 'ms',
    help: 'A process whose event loop stands still for so long ends with exit code 70. 0 = never.',
  }),
  tracesUrl: optionalText({
    env: 'TURNKEEPER_TRACES_URL',
    pattern: /^https?:\/\/\S+$/,
    kind: 'an http:// or https:// address',
    help: 'OTLP over HTTP endpoint for traces (`http://collector:4318/v1/traces`); no spans are made when unset.',
  }),
  crashPoints: optionalText({
    env: 'TURNKEEPER_CRASH_POINTS',
    kind: '`name:kill`, `name:stop` or `name:delay=ms`, then `:nth`; several with commas',
    help: 'For tests only: places at which this process ends, stops or stalls.',
  }),
});

export type ProcessConfig = ConfigOf<typeof processTable>;

/** Where a service's internal port is: `/metrics`, `/healthz`, `/readyz`, and `/admin/v1` in ingress. Rows of its table. */
export function internalListenerOptions(defaults: { readonly port: number }) {
  return {
    internalHost: text({
      env: 'TURNKEEPER_INTERNAL_HOST',
      default: '127.0.0.1',
      help: 'Address of the internal listener. Open it to operators and scrapers only.',
    }),
    internalPort: integer({
      env: 'TURNKEEPER_INTERNAL_PORT',
      default: defaults.port,
      min: 0,
      max: 65_535,
      help: 'Port of the internal listener; 0 = any free one.',
    }),
  };
}

/** The node's name when none was given. */
export function nodeNameOf(config: ProcessConfig): string {
  return config.nodeName ?? hostname();
}
