import { END_AFTER_DRAIN_MS } from '../../packages/platform/src/process/run-process.ts';
import { type Environment, variableOf } from './variables.ts';

/** What is wrong with the time a process of this role is given to end, in seconds: it drains, hands back and closes. */
export function graceFaults(from: {
  readonly role: string;
  readonly env: Environment;
  /** Passes before the process is told. */
  readonly beforeSeconds: number;
  readonly graceSeconds: number | undefined;
}): string[] {
  const drainMs = Number(variableOf(from.role, 'TURNKEEPER_DRAIN_TIMEOUT_MS', from.env));
  const neededSeconds = from.beforeSeconds + (drainMs + END_AFTER_DRAIN_MS) / 1000;
  const given = from.graceSeconds ?? 0;
  return given >= neededSeconds
    ? []
    : [
        `has ${given} s to end and needs ${neededSeconds}: ${from.beforeSeconds} before the signal, ${drainMs / 1000} to drain, ${END_AFTER_DRAIN_MS / 1000} after it`,
      ];
}
