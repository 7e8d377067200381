import { setTimeout as sleep } from 'node:timers/promises';
import { startLocalServices } from '@turnkeeper/platform/local-services';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { residentMegabytes } from './memory.ts';
import { percentile } from './percentile.ts';
import { RoomSocket, type RoomTimes } from './room-socket.ts';
import { startStampingModel } from './stamping-model.ts';

/** Times in milliseconds; `p` = [p50, p99]. */
export interface StreamFigures {
  readonly readers: 'all read' | 'some read nothing';
  readonly sockets: number;
  readonly turns: number;
  readonly ingressMegabytes: number;
  readonly accepted: readonly [number, number];
  readonly firstToken: readonly [number, number];
  readonly laterTokens: readonly [number, number];
}

export interface StreamLoad {
  readonly sockets: number;
  readonly turns: number;
}

const TURNS_PER_SECOND = 20;
const OPENED_AT_ONCE = 50;
const STALLED = 5;
/** Echoed in one piece, so that more waits for a reader that takes nothing than the network holds. */
const BIG = 'x'.repeat(60_000);
const BIG_EACH = 40;

/**
 * Sockets of visitors on one ingress, each in its own room, and turns at a fixed rate among them: until a message is
 * acknowledged, and from a word's leaving the model to its arrival at the socket. Then the same beside readers that take nothing.
 */
export async function measureStreams({ sockets, turns }: StreamLoad): Promise<StreamFigures[]> {
  const services = await startLocalServices({ need: ['postgres', 'redis', 'nats'], env: {}, prefer: 'program' });
  const model = await startStampingModel();
  try {
    await using cluster = await startCluster({ urls: services.urls, env: { TURNKEEPER_LOG_LEVEL: 'warn' } });
    await putAgents(cluster, model.url);
    let times = noTimes();
    const rooms = await openRooms(cluster, sockets, () => times);
    await run(rooms, 20, 'warm-up');
    const figures: StreamFigures[] = [];
    for (const readers of ['all read', 'some read nothing'] as const) {
      const stalled = readers === 'all read' ? [] : await openStalled(cluster);
      times = noTimes();
      await run(rooms, turns, readers);
      figures.push({ readers, sockets, turns, ...(await summaryOf(cluster, times)) });
      for (const room of stalled) room.close();
    }
    for (const room of rooms) room.close();
    return figures;
  } finally {
    await model.close();
    await services.stop();
  }
}

async function putAgents(cluster: Cluster, modelUrl: string): Promise<void> {
  await cluster.putTenant({
    ...{ name: 'test', key: cluster.apiKey },
    agents: [
      { name: 'main', runtime: 'openai', openai: { baseUrl: `${modelUrl}/v1`, model: 'stamps' } },
      { name: 'echo', runtime: 'echo' },
    ],
    accounts: [
      { name: 'site', agent: 'main', channel: 'webchat' },
      { name: 'big', agent: 'echo', channel: 'webchat' },
    ],
  });
}

async function openRooms(cluster: Cluster, count: number, times: () => RoomTimes): Promise<RoomSocket[]> {
  const rooms: RoomSocket[] = [];
  while (rooms.length < count) {
    const wave = Array.from({ length: Math.min(OPENED_AT_ONCE, count - rooms.length) }, (_, i) =>
      openRoom(cluster, { sub: `v${rooms.length + i}`, agentId: 'main' }, times),
    );
    rooms.push(...(await Promise.all(wave)));
  }
  return rooms;
}

async function openRoom(cluster: Cluster, visitor: { sub: string; agentId: string }, times: () => RoomTimes) {
  const { status, json } = await cluster.api('/v1/client-tokens', { body: visitor });
  if (status >= 300) throw new Error(`no client token: ${status} ${json.code}`);
  const url = cluster.ingress[0]?.url ?? '';
  return RoomSocket.open(url, { token: json.token, room: `u_${visitor.sub}` }, times);
}

/** They have megabytes to read and take none. */
async function openStalled(cluster: Cluster): Promise<RoomSocket[]> {
  const stalled: RoomSocket[] = [];
  for (let n = 0; n < STALLED; n++) {
    const room = await openRoom(cluster, { sub: `stalled${n}`, agentId: 'echo' }, noTimes);
    room.stopReading();
    for (let i = 0; i < BIG_EACH; i++) room.say(`big-${i}`, BIG);
    stalled.push(room);
  }
  return stalled;
}

/** Open loop: a turn begins when it is due, whether or not those before it have ended. */
async function run(rooms: readonly RoomSocket[], turns: number, name: string): Promise<void> {
  const startMs = performance.now();
  const all: Promise<void>[] = [];
  for (let n = 0; n < turns; n++) {
    await sleep(Math.max(0, startMs + (n * 1000) / TURNS_PER_SECOND - performance.now()));
    // far apart, so that no room has two turns at once
    const room = rooms[(n * 7919) % rooms.length];
    if (room !== undefined) all.push(room.turn(`${name}-${n}`));
  }
  await Promise.all(all);
}

function noTimes(): RoomTimes {
  return { accepted: [], firstToken: [], laterTokens: [] };
}

async function summaryOf(cluster: Cluster, { accepted, firstToken, laterTokens }: RoomTimes) {
  return {
    ingressMegabytes: await residentMegabytes(cluster.ingress[0]?.pid ?? 0),
    accepted: percentiles(accepted),
    firstToken: percentiles(firstToken),
    laterTokens: percentiles(laterTokens),
  };
}

function percentiles(samples: readonly number[]): readonly [number, number] {
  const at = (share: number) => Number(percentile(samples, share).toFixed(1));
  return [at(0.5), at(0.99)];
}
