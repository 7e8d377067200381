import type { AcceptMessage, Repeated } from '@turnkeeper/core';
import type { Vitals } from '@turnkeeper/platform/process';
import type { NodeRow } from './node-row.ts';

export interface VitalParts {
  readonly acceptMessage: Pick<AcceptMessage, 'progress'>;
  readonly node: Pick<NodeRow, 'beat'>;
  /** By the names that people know them by. */
  readonly links: Readonly<Record<string, { readonly isOver: boolean }>>;
}

/** What must go on in an ingress, else it takes itself out; and the loop that is watched for it. */
export function vitalLoops(vitals: Vitals, { acceptMessage, node, links }: VitalParts): Repeated[] {
  vitals.watchLinks(links);
  vitals.watchProgress('accepting', () => acceptMessage.progress);
  return [vitals.watchLoop({ name: 'node row', everyMs: 1_000, work: () => node.beat() })];
}
