/**
 * `npm run chaos -- [--rounds 30] [--only TEXT] [--rate 100] [--absence 60] [--rolling]`: every fault in every phase of a message, under
 * load on a cluster of two of each service, judged from acceptances and sends, from the rows, and from the timeline of every
 * event; then the time from the kill of a worker to the next turn of its lanes. `--only` names a part of a cell ("kill -9",
 * "running"), or "fail-over"; `--absence`: seconds that Redis and NATS are away; `--rolling`: only a rollout, every process
 * replaced in turn behind a balancer; `--race 10000`: only so many rounds of an event that arrives while its lane is left.
 * Exit code 3 when a promise was broken.
 */
import { parseArgs } from 'node:util';
import { startLocalServices } from '@turnkeeper/platform/local-services';
import { type Cell, cells, trialOf } from './cell.ts';
import { measureFailOver, p99 } from './fail-over.ts';
import { killLeader } from './faults.ts';
import { race } from './race.ts';
import { isRolled, ROLLING_ENV, rollOut } from './rolling.ts';
import { isClean, openStage, type Stage, type Trial, underLoad } from './stage.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '30' },
    only: { type: 'string', default: '' },
    rate: { type: 'string', default: '100' },
    absence: { type: 'string', default: '10' },
    rolling: { type: 'boolean', default: false },
    race: { type: 'string', default: '0' },
  },
});
const load = { ratePerSecond: Number(flags.rate), lanes: 100 };
const LEADER = 'kill -9 of the leader';

const FAIL_OVER = 'fail-over';

if (Number(flags.race) > 0) await runRace(Number(flags.race));
else await runOnStage();

async function runOnStage(): Promise<void> {
  await using stage = await openStage(ROLLING_ENV);
  if (flags.rolling) await rollingRestart(stage);
  else await matrix(stage);
}

async function matrix(on: Stage): Promise<void> {
  const due = cells(Number(flags.absence) * 1000, flags.only);
  let clean = 0;
  for (const cell of due) if (await isCellClean(on, cell)) clean++;
  if (due.length > 0) say(`${due.length} cells, ${clean} clean`);
  if (LEADER.includes(flags.only)) {
    judge(LEADER, await underLoad(on, { ...load, seconds: 8, delayMs: 50 }, () => killLeader(on)));
  }
  if (FAIL_OVER.includes(flags.only)) await failOver(on, Number(flags.rounds));
}

/** One that cannot be judged is none that is clean, and the others are still run. */
async function isCellClean(on: Stage, cell: Cell): Promise<boolean> {
  try {
    const trial = await trialOf(on, cell, load);
    judge(cell.name, trial);
    return isClean(trial);
  } catch (error) {
    say(`${cell.name.padEnd(72)} failed: ${error}`);
    process.exitCode = 3;
    return false;
  }
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

async function runRace(rounds: number): Promise<void> {
  const services = await startLocalServices({ need: ['postgres', 'redis'], env: {} });
  try {
    const startedMs = Date.now();
    const { arrived, doubled, lost, slowestMs } = await race({ urls: services.urls, rounds });
    const moments = Object.entries(arrived).map(([moment, count]) => `${count} ${moment}`);
    say(`${rounds} rounds in ${Math.round((Date.now() - startedMs) / 1000)} s: ${moments.join(', ')}`);
    say(`waited for ever: ${lost.length}, answered twice: ${doubled}, slowest round: ${slowestMs} ms`);
    for (const round of lost) say(`  ${round}`);
    if (lost.length + doubled > 0) process.exitCode = 3;
  } finally {
    await services.stop();
  }
}

function judge(name: string, trial: Trial): void {
  say(`${name.padEnd(72)} ${verdict(trial)}`);
  if (!isClean(trial)) process.exitCode = 3;
}

async function failOver(on: Stage, rounds: number): Promise<void> {
  const medians: number[] = [];
  const worsts: number[] = [];
  const idle: number[] = [];
  const during: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { lanes, firstMs, medianMs, worstMs, others } = await measureFailOver(on.cluster, round);
    const delays = `${lanes} lanes, first ${firstMs} ms, median ${medianMs} ms, worst ${worstMs} ms`;
    const beside = `other lanes p99 ${p99(others.idleMs)} ms before, ${p99(others.duringMs)} ms from the kill on`;
    say(`kill → next turn, round ${round + 1}: ${delays}; ${beside}`);
    medians.push(medianMs);
    worsts.push(worstMs);
    idle.push(...others.idleMs);
    during.push(...others.duringMs);
  }
  medians.sort((a, b) => a - b);
  say(
    `kill → next turn over ${rounds} rounds: median ${medians[Math.floor(rounds / 2)]} ms, worst ${Math.max(...worsts)} ms`,
  );
  const [before, after] = [p99(idle), p99(during)];
  say(
    `other lanes over ${rounds} rounds: p99 ${before} ms before, ${after} ms from the kill on (× ${(after / before).toFixed(2)})`,
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
