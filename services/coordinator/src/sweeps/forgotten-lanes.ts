import { type CrowdedTenant, type LaneRetention, type Logger, overCap, prunesLane } from '@turnkeeper/core';
import type { Sweep } from './sweep.ts';

export interface ForgottenLanesOptions {
  readonly lanes: LaneRetention;
  readonly logger: Logger;
  /** For tenants that say nothing of their own. */
  readonly settledDays: number;
}

/** An eighth of the lanes in each run, once a minute. */
const SLOTS = 512;
const LANES_MAX = 500;

/**
 * Conversations in which nobody has spoken for as long as their tenant wants to know of them, or of which it has too many,
 * lose their place: the next message begins a session of its own. Transcripts have a retention of their own. No repair.
 */
export function forgottenLanes({ lanes, logger, settledDays }: ForgottenLanesOptions): Sweep {
  const aged = async () => {
    const found = await lanes.aged({ slots: SLOTS, defaultDays: settledDays, limit: LANES_MAX });
    return lanes.forget(found.filter((lane) => prunesLane(lane)));
  };
  const crowded = async () => lanes.forget((await lanes.crowded(LANES_MAX)).flatMap(tooMany));
  return {
    name: 'forgotten-lanes',
    deadlineMs: 45_000,
    run: async (signal) => {
      let total = 0;
      for (const forget of [aged, crowded]) {
        for (let forgotten = LANES_MAX; forgotten >= LANES_MAX && !signal.aborted; total += forgotten) {
          forgotten = await forget();
        }
      }
      if (total > 0) logger.info({ lanes: total }, 'forgot lanes past retention');
      return {};
    },
  };
}

/** `oldest` is a page of all its lanes: what the page may keep is what the tenant may have, less what it does not show. */
function tooMany({ lanesMax, lanes, oldest }: CrowdedTenant): CrowdedTenant['oldest'] {
  const page = oldest.map((lane) => ({ ...lane, key: lane.lane.laneId, updatedAt: lane.updatedAt.getTime() }));
  const gone = new Set(overCap(page, lanesMax - (lanes - page.length)));
  return oldest.filter(({ lane }) => gone.has(lane.laneId));
}
