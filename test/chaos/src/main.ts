/**
 * `npm run chaos -- [--rounds 20] [--only TEXT] [--rate 100] [--short]`: every fault under load on a cluster of two of each service, judged
 * from acceptances and sends and from the rows; then the time from the kill of a worker to the next turn of its lanes.
 * Exit code 3 when a promise was broken.
 */
import { parseArgs } from 'node:util';
import { measureFailOver } from './fail-over.ts';
import { faults } from './faults.ts';
import { isClean, openStage, type Stage, type Trial, underLoad } from './stage.ts';

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '20' },
    only: { type: 'string', default: '' },
    rate: { type: 'string', default: '100' },
    short: { type: 'boolean', default: false },
  },
});

await using stage = await openStage();
for (const fault of faults(!flags.short).filter(({ name }) => name.includes(flags.only))) {
  const load = { ratePerSecond: Number(flags.rate), seconds: fault.seconds, lanes: 100, delayMs: 50 };
  const trial = await underLoad(stage, load, () => fault.strike(stage));
  say(`${fault.name.padEnd(44)} ${verdict(trial)}`);
  if (!isClean(trial)) process.exitCode = 3;
}
if (flags.only === '') await failOver(stage, Number(flags.rounds));

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
