import { systemClock } from '@turnkeeper/platform/clock';
import { EventSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { ago, shorten } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper events` */
export function registerEvents(program: Command): void {
  const nowMs = systemClock.nowMs();
  registerNoun(program, {
    noun: 'events',
    description: 'accepted messages over all tenants, newest first (operators)',
    door: 'operator',
    path: '/events',
    row: EventSchema.loose(),
    columns: [
      { title: 'event', of: (event) => event.eventId },
      { title: 'tenant', of: (event) => shorten(event.tenant, 12) },
      { title: 'session', of: (event) => shorten(event.sessionKey, 14) },
      { title: 'status', of: (event) => event.status },
      { title: 'age', of: (event) => ago(event.acceptedAt, nowMs), right: true },
    ],
    filters: [
      { flag: '--tenant <name>', param: 'tenant', help: 'of this tenant' },
      { flag: '--status <status>', param: 'status', help: 'queued, running, ok, error, …' },
    ],
  });
}
