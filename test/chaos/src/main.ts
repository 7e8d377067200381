/**
 * `npm run chaos -- [--rounds 30] [--only TEXT] [--rate 100] [--absence 60] [--rolling]`: every fault in every phase of a message, under
 * load on a cluster of two of each service, judged from acceptances and sends, from the rows, and from the timeline of every
 * event; then the time from the kill of a worker to the next turn of its lanes. `--only` names a part of a cell ("kill -9",
 * "running"); `--absence`: seconds that Redis and NATS are away; `--rolling`: only a rollout, every process replaced in turn
 * behind a balancer. Exit code 3 when a promise was broken.
 */
import { parseArgs } from 'node:util';
import { trialOf } from './cell.ts';
import { measureFailOver } from './fail-over.ts';
import { faults, killLeader } from './faults.ts';
import { PHASES } from './phases.ts';
import { isRolled, ROLLING_ENV, rollOut } from './rolling.ts';
import { isClean, openStage, type Stage, type Trial, underLoad } from './stage.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '30' },
    only: { type: 'string', default: '' },
    rate: { type: 'string', default: '100' },
    absence: { type: 'string', default: '10' },
    rolling: { type: 'boolean', default: false },
  },
});
const load = { ratePerSecond: Number(flags.rate), lanes: 100 };
const LEADER = 'kill -9 of the leader';

await using stage = await openStage(ROLLING_ENV);
if (flags.rolling) await rollingRestart(stage);
else await matrix(stage);

async function matrix(on: Stage): Promise<void> {
  for (const fault of faults(Number(flags.absence) * 1000)) {
    for (const phase of PHASES) {
      const name = `${fault.name}, ${phase.name}`;
      if (name.includes(flags.only)) judge(name, await trialOf(on, { fault, phase }, load));
    }
  }
  if (LEADER.includes(flags.only)) {
    judge(LEADER, await underLoad(on, { ...load, seconds: 8, delayMs: 50 }, () => killLeader(on)));
  }
  if (flags.only === '') await failOver(on, Number(flags.rounds));
}

async function rollingRestart(on: Stage): Promise<void> {
  const rollout = await rollOut(on.cluster, on.cluster.nodes, { ...load, delayMs: 400 });
  judge(`rollout of ${rollout.replaced} processes`, rollout);
  const { repeats } = rollout.report;
  const { lanes, interruptedTurns, deadProcesses } = rollout.strikes;
  const { unavailable, unreachable, cut, storeAway } = repeats;
  say(
    `tries made again: ${unavailable} refused, ${unreachable} unreachable, ${cut} cut, ${storeAway} while the store was away`,
  );
  say(`strikes: ${lanes} lanes, ${interruptedTurns} interrupted turns, ${deadProcesses} processes declared dead`);
  say(`streams: ${rollout.streamsTold} of ${rollout.streams} told to come back`);
  if (!isRolled(rollout)) process.exitCode = 3;
}

function judge(name: string, trial: Trial): void {
  say(`${name.padEnd(72)} ${verdict(trial)}`);
  if (!isClean(trial)) process.exitCode = 3;
}

async function failOver(on: Stage, rounds: number): Promise<void> {
  const firsts: number[] = [];
  const worsts: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { lanes, firstMs, medianMs, worstMs } = await measureFailOver(on.cluster, round);
    say(
      `kill → next turn, round ${round + 1}: ${lanes} lanes, first ${firstMs} ms, median ${medianMs} ms, worst ${worstMs} ms`,
    );
    firsts.push(medianMs);
    worsts.push(worstMs);
  }
  firsts.sort((a, b) => a - b);
  say(
    `kill → next turn over ${rounds} rounds: median ${firsts[Math.floor(rounds / 2)]} ms, worst ${Math.max(...worsts)} ms`,
  );
}

function verdict({ report, violations, explained }: Trial): string {
  const { sent, accepted, refused, answered, lost, doubled, reordered, overlapping, latencyMs } = report;
  const counts = `sent ${sent} accepted ${accepted} refused ${refused} answered ${answered}`;
  const faultsFound = `lost ${lost} doubled ${doubled} reordered ${reordered} overlapping ${overlapping}`;
  const rows =
    violations.length === 0
      ? 'rows clean'
      : `rows: ${violations.map((one) => `${one.invariant} (${one.detail})`).join('; ')}`;
  const { events, gaps, slowestMs } = explained;
  const timelines =
    gaps.length === 0 ? `${events} explained, slowest ${slowestMs} ms` : `not explained: ${gaps.join('; ')}`;
  return `${counts} | ${faultsFound} | reply p50 ${latencyMs.reply.p50} ms max ${latencyMs.reply.max} ms | ${rows} | ${timelines}`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
