import { type AcceptMessage, type ControlSignals, type ControlStore, TypedCommands } from '@turnkeeper/core';
import type { Kit } from '@turnkeeper/platform/process';
import { type AnnounceParts, announceControl } from '../runs/announce-end.ts';

/** Commands that people type, with all who are told of what they did. */
export function buildCommands(
  { bootId, ids }: Kit,
  parts: AnnounceParts & {
    readonly acceptMessage: Pick<AcceptMessage, 'accept' | 'itemOf' | 'noteQueued' | 'refuses'>;
    readonly control: Pick<ControlStore, 'typed' | 'sessionsOf'>;
    readonly signals: Pick<ControlSignals, 'stopTurn'>;
  },
): TypedCommands {
  return new TypedCommands({
    ...parts,
    ...{ ids, nodeId: bootId },
    partitionOf: (slot) => parts.slots.partitionOf(slot),
    announce: announceControl(parts),
  });
}
