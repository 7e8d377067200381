import { type DecidedDelivery, formatId, type MessageId } from '@turnkeeper/core';
import type { AnnounceParts } from './announce-end.ts';

/** What a person decided of a delivery. */
export type DecidedSend = Extract<DecidedDelivery, { readonly result: 'done' | 'same' }> & {
  readonly messageId: MessageId;
};

/** Says what a person decided: to those who watch the conversation, and to the owner of its lane, which may send now. */
export function announceDelivery(
  parts: Pick<AnnounceParts, 'live' | 'wakeUps' | 'slots' | 'clock'>,
): (decided: DecidedSend) => void {
  return ({ lane, sessionKey, sessionId, messageId, turnId, runId, status, attempts }) => {
    const { live, wakeUps, slots, clock } = parts;
    live.publish(lane, {
      ...{ type: 'delivery.updated', at: new Date(clock.nowMs()).toISOString(), sessionKey },
      sessionId: formatId('ses', sessionId),
      ...(turnId === null ? {} : { turnId: formatId('trn', turnId) }),
      ...(runId === null ? {} : { runIds: [formatId('run', runId)] }),
      data: { deliveryId: formatId('dlv', messageId), state: status, attempt: attempts, platformMessageIds: [] },
    });
    wakeUps.wake(slots.partitionOf(lane.slot), [{ lane, ord: null }]);
  };
}
