import { type ConfigOf, defineConfig, integer, storeOptions } from '@turnkeeper/platform/config';
import { internalListenerOptions } from '@turnkeeper/platform/process';

/** What a coordinator reads from the environment. */
export const coordinatorTable = defineConfig('coordinator', {
  ...storeOptions(),
  ...internalListenerOptions({ port: 8423 }),
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
