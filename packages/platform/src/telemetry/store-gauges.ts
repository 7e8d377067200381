import type { Metrics } from './metrics.ts';

/** Shows whether a store answers this process; call the returned function with each change. */
export function storeGauges(
  metrics: Pick<Metrics, 'gauge'>,
  store: 'redis' | 'nats' | 'postgres',
): (isUp: boolean) => void {
  const up = metrics.gauge('store_up');
  const degraded = metrics.gauge('degraded_mode');
  return (isUp) => {
    up.set(isUp ? 1 : 0, { store });
    degraded.set(isUp ? 0 : 1, { store });
  };
}
