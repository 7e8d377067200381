/**
 * `npm run bench -- [--smoke | --quick] [--json FILE]`: messages a second, end to end, through HTTP and for the queue
 * layer alone, the two in turn within one run; medians, with the least and the most of each.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { type Figures, type Ground, openGround } from './ground.ts';
import { httpLoad } from './http-load.ts';
import { openLayerLoad } from './layer-load.ts';

const SHAPES = [
  { lanes: 1_000, perLane: 20 },
  { lanes: 10_000, perLane: 2 },
];
const PARTS = ['http', 'layer'] as const;

interface Row {
  readonly part: (typeof PARTS)[number];
  readonly lanes: number;
  readonly perLane: number;
  readonly runs: readonly Figures[];
}

const { values: flags } = parseArgs({
  options: { quick: { type: 'boolean' }, smoke: { type: 'boolean' }, json: { type: 'string' } },
});
const scale = flags.smoke === true ? 0.05 : 1;
const rounds = flags.smoke === true ? 1 : flags.quick === true ? 3 : 5;

await using ground = await openGround();
const rows = await measureAll(ground);
const result = { at: new Date().toISOString(), settings: ground.settings, rounds, rows };
if (flags.json !== undefined) {
  await mkdir(dirname(flags.json), { recursive: true });
  await writeFile(flags.json, `${JSON.stringify(result, null, 2)}\n`);
}
process.stdout.write(table(rows, ground));

async function measureAll(on: Ground): Promise<Row[]> {
  await using layer = await openLayerLoad(on);
  const load = { http: (lanes: number, messages: number) => httpLoad(on.cluster, lanes, messages), layer: layer.send };
  for (const part of PARTS) await on.measure(2_000, () => load[part](200, 2_000));
  const all: Row[] = [];
  for (const { lanes, perLane } of SHAPES) {
    const runs: Record<(typeof PARTS)[number], Figures[]> = { http: [], layer: [] };
    const messages = Math.round(lanes * perLane * scale);
    for (let round = 0; round < rounds; round++) {
      for (const part of PARTS) {
        const run = await on.measure(messages, () => load[part](Math.round(lanes * scale), messages));
        process.stderr.write(`${part}, ${lanes} lanes, round ${round + 1}: ${run.messagesPerSecond} messages/s\n`);
        runs[part].push(run);
      }
    }
    for (const part of PARTS) all.push({ part, lanes, perLane, runs: runs[part] });
  }
  return all;
}

function table(all: readonly Row[], { settings }: Ground): string {
  const lines = all.map(({ part, lanes, perLane, runs }) => {
    const rates = runs.map((run) => run.messagesPerSecond);
    const middle = runs.toSorted((a, b) => a.messagesPerSecond - b.messagesPerSecond)[Math.floor(runs.length / 2)];
    const cpu = Object.entries(middle?.cpuMicros ?? {}).map(([name, micros]) => `${name} ${micros}`);
    const shape = `${Math.round(lanes * scale)} × ${perLane}`;
    return `| ${part} | ${shape} | ${middle?.messagesPerSecond} [${Math.min(...rates)}..${Math.max(...rates)}] | ${middle?.statementsPerMessage.toFixed(3)} | ${cpu.join(', ')} |`;
  });
  return [
    `Postgres ${settings.postgres}, fsync ${settings.fsync}, synchronous_commit ${settings.synchronousCommit}, Node ${settings.node}, ${settings.cores} cores, ${rounds} rounds`,
    '',
    '| part | lanes × messages | messages/s, median [least..most] | statements/message | CPU, µs/message |',
    '|---|---|---|---|---|',
    ...lines,
    '',
  ].join('\n');
}
