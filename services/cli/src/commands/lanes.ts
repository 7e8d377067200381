import { systemClock } from '@turnkeeper/platform/clock';
import { type Lane, LaneSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { z } from 'zod';
import { ago, shorten } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper lanes` */
export function registerLanes(program: Command): void {
  const nowMs = systemClock.nowMs();
  registerNoun(program, {
    noun: 'lanes',
    description: 'the queues behind the conversations, over all tenants, by slot (operators)',
    door: 'operator',
    path: '/lanes',
    row: LaneSchema.loose(),
    columns: [
      { title: 'tenant', of: (lane) => shorten(lane.tenant, 14) },
      { title: 'agent', of: (lane) => shorten(lane.agent, 12) },
      { title: 'session', of: (lane) => shorten(lane.sessionKey, 22) },
      { title: 'part', of: (lane) => lane.partition, right: true },
      { title: 'queued', of: (lane) => lane.queued, right: true },
      { title: 'state', of: stateOf },
      { title: 'last', of: (lane) => ago(lane.lastActivityAt, nowMs), right: true },
    ],
    getBy: 'lane',
    isNamed: ({ sessionKey }, name) => name === sessionKey,
    isId: (name) => z.guid().safeParse(name).success,
    filters: [
      { flag: '--tenant <name>', param: 'tenant', help: 'of this tenant' },
      { flag: '--state <state>', param: 'state', help: 'running, queued, resuming, suspended or paused' },
    ],
  });
}

function stateOf({ turnId, suspended, paused, queued }: Lane): string {
  if (turnId !== null) return 'running';
  if (suspended) return 'suspended';
  if (paused) return 'paused';
  return queued > 0 ? 'queued' : 'idle';
}
