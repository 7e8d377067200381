import { createServer } from 'node:net';
import { CliError } from '../exit.ts';

export const DEFAULT_PORT = 8420;
const TRIES = 1000;

/**
 * Public ports for so many ingresses: from 8420 on whatever is free; with a wanted port, that one first.
 * @throws CliError `failed` when the wanted port is taken
 */
export async function choosePorts(count: number, wanted: number | undefined): Promise<number[]> {
  if (wanted !== undefined && !(await isFree(wanted))) {
    throw new CliError('failed', `Port ${wanted} is taken: give another --port, or none.`);
  }
  const found: number[] = [];
  const first = wanted ?? DEFAULT_PORT;
  for (let port = first; found.length < count && port < first + TRIES && port <= 65_535; port++) {
    if (await isFree(port)) found.push(port);
  }
  if (found.length < count)
    throw new CliError('failed', `There are not ${count} free ports from ${first} on: give --port.`);
  return found;
}

/** The next free port above this one. @throws CliError `failed` when there is none near */
export async function nextPort(above: number): Promise<number> {
  for (let port = above + 1; port < above + TRIES && port <= 65_535; port++) if (await isFree(port)) return port;
  throw new CliError('failed', `There is no free port from ${above} on: give --port.`);
}

/** The kernel gives no port of this range to connections, so what was free stays free for a while. */
const INTERNAL_FIRST = 20_000;
const INTERNAL_COUNT = 12_000;
/** For services that find their port taken by then. */
const SPARES = 4;

/** Ports for internal listeners, known before anybody listens: all services are told that tenants may reach none of them. */
export interface InternalPorts {
  /** Also those that are not taken yet. */
  readonly all: readonly number[];
  /** The next one; null when none is left. */
  take(): number | null;
}

/** So many, and some to spare. @throws CliError `failed` when the machine has not so many free ones */
export async function reserveInternalPorts(count: number, random: () => number): Promise<InternalPorts> {
  const found = new Set<number>();
  for (let tries = 0; found.size < count + SPARES && tries < TRIES; tries++) {
    const port = INTERNAL_FIRST + Math.floor(random() * INTERNAL_COUNT);
    if (!found.has(port) && (await isFree(port))) found.add(port);
  }
  if (found.size < count) throw new CliError('failed', 'There are no free ports for the internal listeners.');
  const left = [...found];
  return { all: [...found], take: () => left.shift() ?? null };
}

/** On every address: a server on another one would otherwise be shadowed. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
