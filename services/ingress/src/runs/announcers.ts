import { announceDelivery } from './announce-delivery.ts';
import { type AnnounceParts, announceControl, announceEnd } from './announce-end.ts';

/** Everything that says, from here, what was done to conversations. */
export function announcers(parts: AnnounceParts) {
  return {
    announceEnd: announceEnd(parts),
    announceControl: announceControl(parts),
    announceDelivery: announceDelivery(parts),
  };
}
