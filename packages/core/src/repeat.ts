import type { Clock } from './clock.ts';
import type { Logger } from './ports/runtime.ts';

export interface Repeated {
  /** For the log. */
  readonly name: string;
  readonly everyMs: number;
  readonly work: () => Promise<unknown>;
}

/** Does the work again and again until the signal aborts; a failure is logged once until it works again. Never rejects. */
export async function repeat(
  { name, everyMs, work }: Repeated,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  let hasFailed = false;
  while (!signal.aborted) {
    try {
      await work();
      if (hasFailed) logger.info({ name }, 'works again');
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) logger.failed(error, { name }, 'failed, trying again');
      hasFailed = true;
    }
    await clock.sleep(everyMs, signal);
  }
}
