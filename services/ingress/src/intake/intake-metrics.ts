import type { Acceptance, TextRepairs } from '@turnkeeper/core';
import type { Metrics } from '@turnkeeper/platform/telemetry';

export interface IntakeMetrics {
  /** A batch was sent: its size, and how long its first message waited. */
  batch(size: number, waitMs: number): void;
  /** A message was answered. */
  answered(acceptance: Acceptance, about: AboutMessage): void;
  repaired(repairs: TextRepairs): void;
  rateLimited(): void;
  authFailed(): void;
  hook(platform: string, outcome: string): void;
}

export interface AboutMessage {
  readonly door: 'http' | 'hook' | 'socket';
  readonly kind: string;
  readonly platform: string;
  readonly ms: number;
}

/** A source's platform is free text: only known ones become labels, so that nobody can make series. */
const PLATFORMS = new Set([
  'api',
  'webhook',
  'telegram',
  'slack',
  'discord',
  'whatsapp',
  'signal',
  'webchat',
  'matrix',
]);

export function intakeMetrics(metrics: Metrics): IntakeMetrics {
  const batchSize = metrics.histogram('accept_batch_size');
  const queueSeconds = metrics.histogram('accept_queue_seconds');
  const duration = metrics.histogram('accept_duration_seconds');
  const accepted = metrics.counter('events_accepted_total');
  const duplicates = metrics.counter('events_duplicate_total');
  const settled = metrics.counter('events_settled_total');
  const repairs = metrics.counter('text_repairs_total');
  const limited = metrics.counter('rate_limited_total');
  const authFailures = metrics.counter('auth_failures_total');
  const hooks = metrics.counter('hook_requests_total');
  return {
    batch: (size, waitMs) => {
      batchSize.observe(size);
      queueSeconds.observe(waitMs / 1000);
    },
    answered: ({ status, refused }, { door, kind, platform, ms }) => {
      duration.observe(ms / 1000, { source: door });
      if (status === 'duplicate') duplicates.inc();
      else accepted.inc({ kind, platform: PLATFORMS.has(platform) ? platform : 'other' });
      if (refused === null) return;
      settled.inc({ status: 'refused' });
      if (refused !== 'rate_limited') limited.inc();
    },
    repaired: ({ nul, loneSurrogate }) => {
      if (nul > 0) repairs.inc({ kind: 'nul' }, nul);
      if (loneSurrogate > 0) repairs.inc({ kind: 'lone_surrogate' }, loneSurrogate);
    },
    rateLimited: () => limited.inc(),
    authFailed: () => authFailures.inc(),
    hook: (platform, outcome) => hooks.inc({ platform, outcome }),
  };
}
