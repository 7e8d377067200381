import { LIFECYCLE_LIMITS, type Logger, nextStatus, type SessionAging } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

export interface SessionLifecycleOptions {
  readonly aging: SessionAging;
  readonly logger: Logger;
}

/** An eighth of the lanes in each run, once a minute. */
const SLOTS = 512;
const SESSIONS_MAX = 500;

/**
 * Sessions in which nobody speaks grow old: active → expired → archived, one step a sweep. No repair: it is their way. What is
 * expired comes back with the next message, what is archived is followed by a session of its own.
 */
export function sessionLifecycle({ aging, logger }: SessionLifecycleOptions): Sweep {
  return {
    name: 'session-lifecycle',
    deadlineMs: 20_000,
    run: async (signal) => {
      let sessions = 0;
      for (let aged = SESSIONS_MAX; aged === SESSIONS_MAX && !signal.aborted; sessions += aged) {
        const idle = await aging.idle({ ...LIFECYCLE_LIMITS, slots: SLOTS, limit: SESSIONS_MAX });
        const due = idle.flatMap((session) => {
          const to = nextStatus(session, session.now, LIFECYCLE_LIMITS);
          return to === null ? [] : [{ ...session, to }];
        });
        aged = (await aging.age(due)).length;
      }
      if (sessions > 0) logger.info({ sessions }, 'sessions grew old');
      return {};
    },
  };
}
