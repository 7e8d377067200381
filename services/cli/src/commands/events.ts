import { systemClock } from '@turnkeeper/platform/clock';
import { EventSchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { callApi } from '../api.ts';
import { addOutputFlag, type OutputFormat } from '../output.ts';
import { ago, shorten } from '../show.ts';
import { addTargetFlags, resolveTarget, type TargetFlags } from '../target.ts';
import { printAnswer, registerNoun } from './nouns.ts';

/** `turnkeeper events` */
export function registerEvents(program: Command): void {
  const nowMs = systemClock.nowMs();
  const events = registerNoun(program, {
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
    getBy: 'event',
    filters: [
      { flag: '--tenant <name>', param: 'tenant', help: 'of this tenant' },
      { flag: '--status <status>', param: 'status', help: 'queued, running, ok, error, …' },
    ],
  });
  const replay = events
    .command('replay')
    .description('accept a parked event once more, as it was, behind what waits in its conversation')
    .argument('<event>', 'evt_…');
  addTargetFlags(addOutputFlag(replay), 'operator').action(async (event: string, flags: ReplayFlags) => {
    const target = await resolveTarget(flags);
    const path = `/admin/v1/events/${encodeURIComponent(event)}/replay`;
    printAnswer(await callApi({ ...target.operator(), method: 'POST', path }), flags.output);
  });
}

interface ReplayFlags extends TargetFlags {
  readonly output: OutputFormat;
}
