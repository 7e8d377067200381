interface EventRule {
  /** It has a lane seq, is built from rows, and is replayed. The others may be lost. */
  readonly durable: boolean;
  /** Visitors with a client token get it. */
  readonly visitors: boolean;
}

const [SEEN, HIDDEN] = [true, false];
const durable = (visitors: boolean): EventRule => ({ durable: true, visitors });
const ephemeral = (visitors: boolean): EventRule => ({ durable: false, visitors });

/** Every type that a stream may carry (surface §4), in the order in which the events of one transaction are told. */
export const STREAM_EVENTS = {
  'stream.open': ephemeral(SEEN),
  'stream.replayed': ephemeral(SEEN),
  'stream.reset': ephemeral(SEEN),
  'stream.closing': ephemeral(SEEN),
  'event.accepted': ephemeral(SEEN),
  'run.settled': durable(SEEN),
  'run.waiting': durable(SEEN),
  'turn.started': durable(SEEN),
  'turn.interrupted': durable(SEEN),
  'turn.snapshot': ephemeral(SEEN),
  'message.delta': ephemeral(SEEN),
  'turn.activity': ephemeral(SEEN),
  'reasoning.delta': ephemeral(HIDDEN),
  'tool.delta': ephemeral(HIDDEN),
  'tool.started': ephemeral(HIDDEN),
  'step.committed': durable(HIDDEN),
  'message.created': durable(SEEN),
  'message.updated': durable(SEEN),
  'message.deleted': durable(SEEN),
  'turn.finished': durable(SEEN),
  'input.required': durable(SEEN),
  'input.resolved': durable(SEEN),
  'notice.created': durable(SEEN),
  'delivery.updated': ephemeral(HIDDEN),
  'session.started': durable(SEEN),
  'session.reset': durable(SEEN),
  'session.expired': durable(HIDDEN),
  'session.archived': durable(HIDDEN),
  'session.suspended': durable(SEEN),
  'session.resumed': durable(SEEN),
  'session.erased': durable(HIDDEN),
  'session.updated': durable(HIDDEN),
  'child.spawned': durable(HIDDEN),
  'child.finished': durable(HIDDEN),
  error: ephemeral(SEEN),
} as const satisfies Readonly<Record<string, EventRule>>;

export type StreamEventType = keyof typeof STREAM_EVENTS;

const RANKS = new Map<string, number>(Object.keys(STREAM_EVENTS).map((type, rank) => [type, rank]));

/** Durable events of one lane in the order in which readers get them: by seq, then by the table. */
export function inStreamOrder<E extends { readonly seq: number; readonly type: string }>(events: readonly E[]): E[] {
  return [...events].sort((a, b) => a.seq - b.seq || rankOf(a.type) - rankOf(b.type));
}

function rankOf(type: string): number {
  return RANKS.get(type) ?? RANKS.size;
}
