import { type IntakeStore, type Tracer, traced } from '@turnkeeper/core';

/** Group commits as spans of their own, with links to the messages that they stored. */
export function tracedIntake(store: IntakeStore, tracer: Tracer): IntakeStore {
  return {
    accept: (nodeId, items) => {
      const links = items.map(({ traceparent }) => traceparent);
      const span = tracer.start('accept.batch', { links, attributes: { size: items.length } });
      return traced(span, () => store.accept(nodeId, items));
    },
    queuedPerTenant: () => store.queuedPerTenant(),
  };
}
