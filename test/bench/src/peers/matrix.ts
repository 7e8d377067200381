import type { LocalServices } from '@turnkeeper/platform/local-services';
import { openGround, startServices } from '../ground.ts';
import type { Settings } from '../settings.ts';
import { measurePeer } from './measure-peer.ts';
import { openTurnkeeper, type Part } from './measure-turnkeeper.ts';
import { type PeerServers, startPeerServers } from './servers.ts';
import type { Outcome, Workload } from './workload.ts';

/** How much is sent in one run: what takes a few seconds. */
const SIZES = {
  'turnkeeper, HTTP': 20_000,
  'turnkeeper, layer': 20_000,
  groupmq: 20_000,
  'graphile-grouped': 20_000,
  jetstream: 20_000,
  restate: 5_000,
  'pg-boss': 4_000,
  graphile: 3_000,
} as const;

export type Contender = keyof typeof SIZES;
export const CONTENDERS = Object.keys(SIZES) as Contender[];
const PARTS = new Map<Contender, Part>([
  ['turnkeeper, HTTP', 'http'],
  ['turnkeeper, layer', 'layer'],
]);
const OUTSTANDING = 256;
const OPEN_SECONDS = 5;
const HOT_MESSAGES = 0.1;

/** One run that ended, or why it did not. */
export interface Cell {
  readonly contender: Contender;
  readonly workload: Workload;
  readonly round: number;
  readonly outcome: Outcome | { readonly failed: string };
}

export interface Matrix {
  readonly settings: Settings;
  readonly cells: readonly Cell[];
}

export interface MatrixOptions {
  readonly rounds: number;
  /** Share of the messages of a full run. */
  readonly scale: number;
  readonly contenders: readonly Contender[];
  readonly onCell: (cell: Cell) => void;
}

/**
 * Everybody in turn within each round, so that what the machine does meanwhile meets all. Turnkeeper's cluster lives for its
 * own runs only; the peers have a Redis and a database of their own, on servers of the same settings.
 * @throws Error when a server cannot be started
 */
export async function runMatrix(options: MatrixOptions): Promise<Matrix> {
  const services = await startServices();
  const forPeers = await startServices();
  const servers = await startPeerServers(forPeers.urls);
  const cells: Cell[] = [];
  const keep = (cell: Cell) => {
    cells.push(cell);
    options.onCell(cell);
  };
  try {
    let settings: Settings | null = null;
    for (let round = 0; round < options.rounds; round++) {
      settings = await turnkeeperRound(services, { ...options, round, cells, keep });
      for (const contender of options.contenders) {
        if (!PARTS.has(contender)) await peerRound(contender, servers, { ...options, round, cells, keep });
      }
    }
    if (settings === null) throw new Error('no rounds');
    return { settings, cells };
  } finally {
    await servers[Symbol.asyncDispose]();
    await Promise.all([services.stop(), forPeers.stop()]);
  }
}

interface Round extends MatrixOptions {
  readonly round: number;
  readonly cells: readonly Cell[];
  readonly keep: (cell: Cell) => void;
}

async function turnkeeperRound(services: LocalServices, round: Round): Promise<Settings> {
  await using ground = await openGround(services);
  await using turnkeeper = await openTurnkeeper(ground);
  for (const [contender, part] of PARTS) {
    if (!round.contenders.includes(contender)) continue;
    await turnkeeper.measure(part, closed('warm-up', { lanes: 200, messages: 2_000 * round.scale, handlerMs: 0 }));
    await runAll(contender, round, (load) => turnkeeper.measure(part, load));
  }
  return ground.settings;
}

async function peerRound(contender: Contender, servers: PeerServers, round: Round): Promise<void> {
  await runAll(contender, round, (load) => measurePeer(contender, servers, load));
  if (contender === 'restate') await servers.stopRestate();
}

async function runAll(
  contender: Contender,
  round: Round,
  measure: (load: Workload) => Promise<Outcome>,
): Promise<void> {
  for (const make of WORKLOADS) {
    const workload = make(contender, round);
    if (workload === null) continue;
    const outcome = await measure(workload).catch((error: unknown) => ({
      failed: error instanceof Error ? error.message : String(error),
    }));
    round.keep({ contender, workload, round: round.round, outcome });
  }
}

type Make = (contender: Contender, round: Round) => Workload | null;

/** The hot lane comes last: Turnkeeper's cluster ends with its backlog. */
const WORKLOADS: readonly Make[] = [
  (contender, { scale }) => closed('1,000 lanes', { lanes: 1_000, messages: SIZES[contender] * scale, handlerMs: 0 }),
  (contender, { scale }) =>
    closed('10,000 lanes', {
      lanes: 10_000 * scale,
      messages: Math.max(SIZES[contender], 10_000) * scale,
      handlerMs: 0,
    }),
  (contender, { scale }) =>
    closed('1,000 lanes, 5 ms', { lanes: 1_000, messages: (SIZES[contender] / 2) * scale, handlerMs: 5 }),
  (contender, round) => halfThePeak(contender, round),
  (contender, { scale }) => ({
    ...{ name: 'a hot lane', lanes: 1, messages: Math.max(SIZES[contender] * HOT_MESSAGES * scale, 50), handlerMs: 0 },
    pace: { kind: 'hot' },
  }),
  (contender, { scale }) =>
    contender === 'turnkeeper, HTTP'
      ? null
      : {
          ...{ name: 'beside a hot lane', lanes: 1_000 * scale, messages: 1_000 * scale, handlerMs: 5 },
          pace: { kind: 'beside', backlog: 5_000 * scale, perSecond: 250 },
        },
];

function closed(name: string, load: { lanes: number; messages: number; handlerMs: number }): Workload {
  return { name, ...load, messages: Math.round(load.messages), pace: { kind: 'closed', outstanding: OUTSTANDING } };
}

function halfThePeak(contender: Contender, { cells, scale }: Round): Workload | null {
  const peaks = cells.flatMap(({ contender: of, workload, outcome }) =>
    of === contender && workload.name === '1,000 lanes' && 'perSecond' in outcome ? [outcome.perSecond] : [],
  );
  const peak = median(peaks);
  if (peak === null) return null;
  const perSecond = Math.max(20, Math.round(peak / 2));
  const messages = Math.round(perSecond * OPEN_SECONDS * scale);
  return { name: 'half the peak', lanes: 1_000, messages, handlerMs: 0, pace: { kind: 'open', perSecond } };
}

/** The middle one, or null of none. */
export function median(values: readonly number[]): number | null {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? null;
}
