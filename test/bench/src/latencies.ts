import { setTimeout as sleep } from 'node:timers/promises';
import type { EventId } from '@turnkeeper/core';
import type pg from 'pg';
import { percentile } from './percentile.ts';

const LOOK_MS = 250;

/** One accepted message and when it should have been sent, on this machine's clock, milliseconds since 1970. */
export interface Due {
  readonly eventId: EventId;
  readonly atMs: number;
}

/** From when a message was due to when its turn had ended, milliseconds; counted are those that ended. */
export interface Latencies {
  readonly messages: number;
  readonly missing: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Sends at a steady rate for so long, each at its time whatever became of those before it. @throws what a send throws */
export async function sendSteadily(
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
  send: (i: number) => Promise<EventId>,
): Promise<Due[]> {
  const startMs = Date.now();
  const all: Promise<Due>[] = [];
  const count = Math.round(perSecond * seconds);
  while (all.length < count) {
    const dueNow = Math.min(count, Math.floor(((Date.now() - startMs) * perSecond) / 1000) + 1);
    while (all.length < dueNow) {
      const atMs = startMs + (all.length * 1000) / perSecond;
      all.push(send(all.length).then((eventId) => ({ eventId, atMs })));
    }
    await sleep(1);
  }
  return Promise.all(all);
}

/** Waits until all of them have ended, or the time is over, and says how long each took. The database is on this machine. */
export async function latenciesOf(client: pg.Client, sent: readonly Due[], waitMs: number): Promise<Latencies> {
  const untilMs = performance.now() + waitMs;
  for (;;) {
    const { rows } = await client.query<{ id: EventId; ms: number }>(
      `select id, extract(epoch from settled_at)::double precision * 1000 as ms
         from tk.events where id = any($1) and state >= 10`,
      [sent.map(({ eventId }) => eventId)],
    );
    if (rows.length >= sent.length || performance.now() > untilMs) {
      const endedMs = new Map(rows.map(({ id, ms }) => [id, ms]));
      return summary(sent, endedMs);
    }
    await sleep(LOOK_MS);
  }
}

function summary(sent: readonly Due[], endedMs: ReadonlyMap<EventId, number>): Latencies {
  const took = sent.flatMap(({ eventId, atMs }) => {
    const ended = endedMs.get(eventId);
    return ended === undefined ? [] : [ended - atMs];
  });
  const at = (share: number) => Math.round(percentile(took, share) * 10) / 10;
  return { messages: took.length, missing: sent.length - took.length, p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}
