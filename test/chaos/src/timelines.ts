import { formatId } from '@turnkeeper/core';
import { type Run, type Timeline, TimelineSchema } from '@turnkeeper/protocol';
import { openDatabase } from '@turnkeeper/storage';
import { type ApiAnswer, type Cluster, until } from '@turnkeeper/test-harness';

export interface Explained {
  readonly events: number;
  /** What is missing or does not fit, with the event's id; at most 20. */
  readonly gaps: readonly string[];
  /** Longest time that one explanation took, milliseconds. */
  readonly slowestMs: number;
}

const AT_ONCE = 16;
const GAPS_MAX = 20;

/**
 * Asks the cluster to explain every event that it accepted since then, and judges each answer: accepted, claimed, every
 * attempt begun and ended, settled and sent, each with its time and its node, none missing, and all as the run itself says.
 */
export async function explainAll(cluster: Cluster, since: Date): Promise<Explained> {
  const waiting = await acceptedSince(cluster.postgresUrl, since);
  const events = waiting.length;
  const gaps: string[] = [];
  let slowestMs = 0;
  const explain = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const startMs = performance.now();
      const told = await asked(cluster, `/v1/events/${formatId('evt', id)}/timeline`);
      slowestMs = Math.max(slowestMs, performance.now() - startMs);
      const run = await asked(cluster, `/v1/runs/${formatId('run', id)}`);
      const faults =
        told.status === 200 ? gapsOf(TimelineSchema.parse(told.json), run.json) : [`answered ${told.status}`];
      gaps.push(...faults.map((gap) => `${formatId('evt', id)}: ${gap}`));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, explain));
  return { events, gaps: gaps.slice(0, GAPS_MAX), slowestMs: Math.round(slowestMs) };
}

/** A cluster that has just been struck may say 503 for a moment, as to any client. */
async function asked(cluster: Cluster, path: string): Promise<ApiAnswer> {
  return until('it answers', async () => {
    const answer = await cluster.api(path);
    return answer.status === 503 ? null : answer;
  });
}

async function acceptedSince(url: string, since: Date): Promise<string[]> {
  const database = openDatabase({ url, role: 'tk_sweep', poolMax: 1, applicationName: 'chaos' });
  try {
    const text = 'select id from tk.events where accepted_at >= $1';
    return (await database.query<{ id: string }>({ name: 'accepted', text }, [since])).map(({ id }) => id);
  } finally {
    await database.close();
  }
}

/** What does not hold of the life of an event that has ended and was answered through an account. */
export function gapsOf({ data, status }: Timeline, run: Pick<Run, 'status' | 'attempts' | 'turnId'>): string[] {
  const of = (step: string) => data.filter((entry) => entry.step === step);
  const [begun, ended, settled, sends] = [of('claimed'), of('turn_ended'), of('settled'), of('delivery')];
  const times = data.map(({ at }) => Date.parse(at));
  const named = [...of('accepted'), ...begun, ...ended, ...sends].every(({ node }) => node !== undefined);
  const order = [...begun.map(({ attempt }) => attempt)];
  const rules: readonly [boolean, string][] = [
    [status === run.status, `its run is ${run.status}, the timeline says ${status}`],
    [data[0]?.step === 'accepted' && of('accepted').length === 1, 'it does not begin with its one acceptance'],
    [times.every((at, i) => at >= (times[i - 1] ?? 0)), 'its times run backwards'],
    [named, 'a step has no node'],
    [
      order.every((attempt, i) => attempt === i + 1) && order.length === run.attempts,
      `attempts ${order} of ${run.attempts}`,
    ],
    [
      begun.length > 0 && begun.every(({ turnId }, i) => ended[i]?.turnId === turnId) && ended.length === begun.length,
      'a turn that began did not end',
    ],
    [settled.length === 1 && settled[0]?.status === run.status, 'it is not settled once, as its run is'],
    [ended.at(-1)?.turnId === run.turnId, 'its last turn is not its run’s'],
    [sends.length > 0 && sends.every((send) => send.status === 'delivered'), 'no send that was delivered'],
  ];
  return rules.filter(([holds]) => !holds).map(([, gap]) => gap);
}
