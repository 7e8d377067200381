import { RECOVERY_DEFAULTS } from '../../recovery/strikes.ts';
import type { World } from './world.ts';

/** What is wrong with a finished world; null when nothing is. */
export function faultOf(world: World): string | null {
  const [failure] = world.failures;
  if (failure !== undefined) return `failed: ${failure instanceof Error ? failure.stack : String(failure)}`;
  const ended = new Map<string, number[]>();
  for (const { laneId, ord, turnId, ranAs } of world.lanes.effects) {
    if (turnId !== ranAs) return `a turn had an effect that did not run in ${laneId}`;
    ended.set(laneId, [...(ended.get(laneId) ?? []), ord]);
  }
  for (const [laneId, ords] of ended) {
    if (new Set(ords).size !== ords.length) return `two effects for an event of ${laneId}: ${ords}`;
    if (ords.some((ord, i) => ord < (ords[i - 1] ?? 0))) return `out of order in ${laneId}: ${ords}`;
  }
  if (new Set(world.lanes.resumes).size !== world.lanes.resumes.length) return 'a turn was resumed twice';
  if (world.lanes.suspensions.some((strikes) => strikes !== RECOVERY_DEFAULTS.resumesMax))
    return 'a lane was suspended early';
  if (world.stoppedWrongly.length > 0) return 'a running turn was stopped';
  const stranded = world.stranded();
  return stranded.length === 0 ? null : `stranded: ${stranded}`;
}
