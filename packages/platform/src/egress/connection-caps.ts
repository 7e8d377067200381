import { EgressError } from './error.ts';

/** Requests a tenant may have in flight; further ones wait in order. */
export interface ConnectionCaps {
  /**
   * Resolves with a function that gives the place back; calling it twice is fine.
   * @throws EgressError `busy` when none became free in time, or too many wait; `aborted`
   */
  take(tenantId: string, signal: AbortSignal | undefined): Promise<() => void>;
}

interface Waiting {
  readonly enter: () => void;
}

/** @param limits `perTenantMax` both for requests in flight and for those that wait; `waitMs` longest wait for a place */
export function createConnectionCaps(limits: {
  readonly perTenantMax: number;
  readonly waitMs: number;
}): ConnectionCaps {
  const used = new Map<string, number>();
  const queues = new Map<string, Set<Waiting>>();

  const give = (tenantId: string) => {
    const queue = queues.get(tenantId);
    const next = queue?.values().next().value;
    if (queue && next) {
      queue.delete(next);
      if (queue.size === 0) queues.delete(tenantId);
      return next.enter();
    }
    const left = (used.get(tenantId) ?? 1) - 1;
    if (left === 0) used.delete(tenantId);
    else used.set(tenantId, left);
  };

  const place = (tenantId: string) => {
    let held = true;
    return () => {
      if (held) give(tenantId);
      held = false;
    };
  };

  const wait = (tenantId: string, signal: AbortSignal | undefined) =>
    new Promise<() => void>((resolve, reject) => {
      const queue = queues.get(tenantId) ?? new Set();
      queues.set(tenantId, queue);
      const settle = (act: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        act();
      };
      const leave = (kind: 'busy' | 'aborted') => {
        queue.delete(waiting);
        if (queue.size === 0) queues.delete(tenantId);
        settle(() => reject(new EgressError(kind)));
      };
      const onAbort = () => leave('aborted');
      const waiting: Waiting = { enter: () => settle(() => resolve(place(tenantId))) };
      const timer = setTimeout(() => leave('busy'), limits.waitMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      queue.add(waiting);
    });

  return {
    take: async (tenantId, signal) => {
      if (signal?.aborted) throw new EgressError('aborted');
      const inUse = used.get(tenantId) ?? 0;
      if (inUse < limits.perTenantMax) {
        used.set(tenantId, inUse + 1);
        return place(tenantId);
      }
      if ((queues.get(tenantId)?.size ?? 0) >= limits.perTenantMax) throw new EgressError('busy');
      return wait(tenantId, signal);
    },
  };
}
