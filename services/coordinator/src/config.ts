import { RESUME_BREAKER, type ResumeBreaker } from '@turnkeeper/core';
import { type ConfigOf, defineConfig, integer, storeOptions } from '@turnkeeper/platform/config';
import { internalListenerOptions } from '@turnkeeper/platform/process';

/** What a coordinator reads from the environment. */
export const coordinatorTable = defineConfig('coordinator', {
  ...storeOptions(),
  ...internalListenerOptions({ port: 8423 }),
  resumeTakeovers: integer({
    env: 'TURNKEEPER_RESUME_BREAKER_TAKEOVERS',
    default: 0,
    min: 0,
    max: 100,
    help: 'After so many takeovers in a row in which resumed turns were lost again, such turns wait for a person; 0 = never.',
  }),
  resumeGapMs: integer({
    env: 'TURNKEEPER_RESUME_BREAKER_GAP_MS',
    default: RESUME_BREAKER.gapMsMax,
    min: RESUME_BREAKER.windowMs,
    max: 86_400_000,
    unit: 'ms',
    help: 'Two such takeovers with no more than this between them are in a row.',
  }),
  settledDays: integer({
    env: 'TURNKEEPER_RETENTION_SETTLED_DAYS',
    default: 30,
    min: 1,
    max: 3650,
    unit: 'days',
    help: 'How long events, turns and deliveries are kept after they have ended.',
  }),
  dedupeDays: integer({
    env: 'TURNKEEPER_RETENTION_DEDUPE_DAYS',
    default: 8,
    min: 2,
    max: 3650,
    unit: 'days',
    help: 'How long a repeated message is recognised as one.',
  }),
});

export type CoordinatorConfig = ConfigOf<typeof coordinatorTable>;

/** When resumes that are lost over and over wait for people. */
export function breakerOf(config: Pick<CoordinatorConfig, 'resumeTakeovers' | 'resumeGapMs'>): ResumeBreaker {
  return { ...RESUME_BREAKER, restartsMax: config.resumeTakeovers, gapMsMax: config.resumeGapMs };
}
