import { setTimeout as sleep } from 'node:timers/promises';

const STEP_MS = 20;

/**
 * Waits for a condition instead of sleeping: calls `probe` until it returns something other than undefined, null or false.
 * A throw of the probe counts as "not yet"; the last one is the cause of the error.
 * @throws Error naming `what` after `deadlineMs`
 */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  deadlineMs = 15_000,
): Promise<Exclude<T, undefined | null | false>> {
  const endMs = performance.now() + deadlineMs;
  let last: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== null && value !== false)
        return value as Exclude<T, undefined | null | false>;
      last = value;
    } catch (error) {
      last = error;
    }
    if (performance.now() > endMs) throw new Error(`not within ${deadlineMs} ms: ${what}`, { cause: last });
    await sleep(STEP_MS);
  }
}
