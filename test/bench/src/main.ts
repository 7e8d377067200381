/**
 * `npm run bench -- [--smoke | --quick] [--only PART] [--beside NAME,…] [--minutes N] [--rate N] [--json FILE]`: messages a
 * second, end to end, through HTTP and for the queue layer alone, the two in turn within one run, medians with the least and
 * the most of each; how soon a command to a conversation takes effect when it is given to another node; what many open
 * sockets cost and wait; what many turns in flight, lanes and tenants weigh; and all of it beside other queues with an order per key (`--beside` names some of them).
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { type ControlFigures, measureControl } from './control-load.ts';
import { measureFairness } from './fairness.ts';
import { type Figures, type Ground, openGround } from './ground.ts';
import { httpLoad } from './http-load.ts';
import { measureInFlight } from './in-flight.ts';
import { openLayerLoad } from './layer-load.ts';
import { measureManyLanes, measureManyTenants } from './many-lanes.ts';
import { installPeers } from './peers/install.ts';
import { CONTENDERS, runMatrix } from './peers/matrix.ts';
import { ratiosOf, tablesOf } from './peers/report.ts';
import { peerVersions } from './peers/servers.ts';
import { measureScaleOut } from './scale-out.ts';
import { measureSoak } from './soak.ts';
import { measureStreams, type StreamFigures } from './stream-load.ts';

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
  options: {
    ...{ quick: { type: 'boolean' }, smoke: { type: 'boolean' }, json: { type: 'string' } },
    only: { type: 'string', default: '' },
    ...{ beside: { type: 'string' }, minutes: { type: 'string' }, rate: { type: 'string', default: '800' } },
  },
});
const scale = flags.smoke === true ? 0.05 : 1;
const rounds = flags.smoke === true ? 1 : flags.quick === true ? 3 : 5;

const controls = flags.smoke === true ? 20 : flags.quick === true ? 100 : 500;

const streamLoad = flags.smoke === true ? { sockets: 100, turns: 40 } : { sockets: 5_000, turns: rounds * 400 };

const weights =
  flags.smoke === true
    ? { turns: 500, seconds: 2, lanes: 10_000, tenants: 100, flood: 2_000, minutes: 1 }
    : { turns: 20_000, seconds: 20, lanes: 1_000_000, tenants: 10_000, flood: 50_000, minutes: 30 };

const PART_OF = {
  ...{ throughput, control, streams },
  'in-flight': () => told(measureInFlight(weights.turns, weights.seconds)),
  tenants: () => told(measureManyTenants(weights.tenants)),
  lanes: () => told(measureManyLanes(weights.lanes, rounds)),
  fairness: () => told(measureFairness(weights.flood, weights.seconds)),
  'scale-out': () => told(measureScaleOut(weights.seconds)),
  soak: () => told(measureSoak(Number(flags.rate), Number(flags.minutes ?? weights.minutes))),
  peers,
};
if (flags.only !== '' && !(flags.only in PART_OF)) throw new Error(`--only knows ${Object.keys(PART_OF).join(', ')}`);
const parts: Record<string, unknown> = {};
for (const [name, measure] of Object.entries(PART_OF)) {
  if (flags.only === '' || flags.only === name) parts[name] = await measure();
}
if (flags.json !== undefined) {
  await mkdir(dirname(flags.json), { recursive: true });
  const { ratios } = (parts['peers'] ?? {}) as { readonly ratios?: unknown };
  await writeFile(flags.json, `${JSON.stringify({ at: new Date().toISOString(), ratios, ...parts }, null, 2)}\n`);
}

async function throughput() {
  await using ground = await openGround();
  const rows = await measureAll(ground);
  process.stdout.write(table(rows, ground));
  return { settings: ground.settings, rounds, rows };
}

async function control(): Promise<readonly ControlFigures[]> {
  const figures = await measureControl(controls);
  const lines = figures.map(
    ({ bus, what, count, p50, p99, most }) => `| ${what} | ${bus} | ${count} | ${p50} | ${p99} | ${most} |`,
  );
  const head = [
    '| command at the other node | bus | samples | p50, ms | p99, ms | most, ms |',
    '|---|---|---|---|---|---|',
  ];
  process.stdout.write(`${[...head, ...lines].join('\n')}\n`);
  return figures;
}

async function streams(): Promise<readonly StreamFigures[]> {
  const figures = await measureStreams(streamLoad);
  const lines = figures.map(
    ({ readers, sockets, turns, ingressMegabytes, ...times }) =>
      `| ${readers} | ${sockets} | ${turns} | ${ingressMegabytes} | ${[times.accepted, times.firstToken, times.laterTokens].map((pair) => pair.join(' / ')).join(' | ')} |`,
  );
  const head = [
    '| readers | sockets | turns | ingress, MB | message → ack, p50 / p99 ms | first word, model → socket | later words |',
    '|---|---|---|---|---|---|---|',
  ];
  process.stdout.write(`${[...head, ...lines].join('\n')}\n`);
  return figures;
}

/** One figure after the other, as JSON: they are not tables. */
async function told<T>(measuring: Promise<T>): Promise<T> {
  const figures = await measuring;
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  return figures;
}

async function peers() {
  await installPeers();
  const wanted = flags.beside?.split(',');
  const contenders = CONTENDERS.filter(
    (name) => wanted === undefined || name.startsWith('turnkeeper') || wanted.includes(name),
  );
  const matrix = await runMatrix({
    ...{ rounds, scale, contenders },
    onCell: ({ contender, workload, round, outcome }) =>
      process.stderr.write(`round ${round + 1}, ${contender}, ${workload.name}: ${JSON.stringify(outcome)}\n`),
  });
  const ratios = ratiosOf(matrix.cells);
  process.stdout.write(`${settingsLine(matrix.settings)}\n\n${tablesOf(matrix)}\nRatios: ${JSON.stringify(ratios)}\n`);
  return { rounds, versions: await peerVersions(), ...matrix, ratios };
}

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
    settingsLine(settings),
    '',
    '| part | lanes × messages | messages/s, median [least..most] | statements/message | CPU, µs/message |',
    '|---|---|---|---|---|',
    ...lines,
    '',
  ].join('\n');
}

function settingsLine({ postgres, fsync, synchronousCommit, node, cores }: Ground['settings']): string {
  return `Postgres ${postgres}, fsync ${fsync}, synchronous_commit ${synchronousCommit}, Node ${node}, ${cores} cores, ${rounds} rounds`;
}
