import { AppError, type Clock, type Ids, type Logger, StoreError } from '@turnkeeper/core';
import type { Database } from './database.ts';
import { checkRoles, checkSchema } from './migrate.ts';

const RETRY_BASE_MS = 100;
const RETRY_CAP_MS = 2_000;

/**
 * Waits until the database answers, then makes sure that its schema fits this program and that row-level security binds
 * each pool's role. Logs one line while it waits.
 * @throws AppError `schema_mismatch`, `internal` for a login that sees every tenant, `store_unavailable` when the signal aborts first
 */
export async function untilReady(
  databases: readonly [Database, ...Database[]],
  parts: { readonly clock: Clock; readonly ids: Ids; readonly logger: Logger },
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; ; failures++) {
    try {
      await checkSchema(databases[0]);
      for (const database of databases) await checkRoles(database);
      return;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (signal.aborted) {
        throw new AppError({ code: 'store_unavailable', message: 'the database does not answer', cause: error });
      }
      if (failures === 0) parts.logger.failed(error, {}, 'the database does not answer; waiting for it');
    }
    const pauseMs = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** failures);
    await parts.clock.sleep(pauseMs * (0.5 + parts.ids.random() / 2), signal);
  }
}
