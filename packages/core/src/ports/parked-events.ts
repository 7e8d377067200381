import type { AccountId, AgentId, EventId, LaneRef } from '../ids.ts';
import type { EventKind } from '../states.ts';
import type { Actor } from './config-writes.ts';
import type { EventBody } from './intake.ts';

/** An event that was set aside after it had failed too often: nothing of it is lost. */
export interface ParkedEvent extends LaneRef {
  readonly eventId: EventId;
  readonly agentId: AgentId;
  readonly sessionKey: string;
  readonly kind: EventKind;
  readonly accountId: AccountId | null;
  readonly body: EventBody;
}

export interface ParkedEvents {
  /** Null: there is no such event. `erased`: it was parked, and what it said has been erased since. @throws StoreError */
  find(eventId: EventId): Promise<ParkedEvent | 'not_parked' | 'erased' | null>;
  /** One row of the audit trail for each `eventId`, the event that the replay made, however often it is noted. @throws StoreError */
  noteReplay(replay: { readonly parked: ParkedEvent; readonly eventId: EventId; readonly actor: Actor }): Promise<void>;
}
