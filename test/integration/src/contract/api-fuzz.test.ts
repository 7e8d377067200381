/**
 * Requests made from the document, allowed, nearly allowed and hostile, at both listeners: no 5xx, no hang, every refusal
 * a problem with a code that the document lists, and no row of the database written by a refusal. Only an ingress runs,
 * so that whatever changes was changed by the request. `npm run fuzz` does it for ten minutes with a seed of its own.
 */
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { isInternal } from './api-contract.ts';
import { type FuzzRequest, fuzzRequests } from './fuzz-requests.ts';
import { sendOver, type WireAnswer } from './requests.ts';
import { Rows, WriteWatch } from './rows.ts';
import { buildStage, refreshStage, type Stage } from './stage.ts';

const SECONDS = Number(process.env['TURNKEEPER_FUZZ_SECONDS'] ?? 25);
const SEED = Number(process.env['TURNKEEPER_FUZZ_SEED'] ?? 20_261_130);
const RUNS_MAX = SECONDS * 100;
/** What was deleted is made again so often. */
const REFRESH_EVERY = 40;

let cluster: Cluster;
let stage: Stage;
let rows: Rows;

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 1, workers: 1, coordinators: 1, mode: 'inline' });
  stage = await buildStage(cluster);
  for (const node of [...cluster.workers, ...cluster.coordinators]) {
    node.signal('SIGTERM');
    await node.exited;
  }
  rows = new Rows(cluster.postgresUrl);
  await rows.open();
});
afterAll(async () => {
  await rows?.[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

/** What the document, or reason, does not allow of an answer. */
function faultOf({ contract }: FuzzRequest, answer: WireAnswer): string | null {
  const { status, type, text } = answer;
  if (status >= 500) return `${status} ${text}`;
  if (status < 300) return type.startsWith('application/json') ? contract.faultOf(status, JSON.parse(text)) : null;
  const code = contract.codeIn(answer);
  if (code === null) return `${status} as ${type}: ${text}`;
  return contract.codesOf(status).includes(code) ? null : `${status} ${code} is not in the document`;
}

test(`no request of ${SECONDS} s breaks anything (seed ${SEED})`, { timeout: (SECONDS + 60) * 1000 }, async () => {
  const [node] = cluster.ingress;
  const faults = new Map<string, object>();
  const statuses = new Map<number, number>();
  let sent = 0;
  const writes = new WriteWatch(rows);
  await writes.changedTables();
  const tryOne = async (fuzzed: FuzzRequest): Promise<void> => {
    const { contract, request } = fuzzed;
    if (++sent % REFRESH_EVERY === 0) {
      await refreshStage(cluster, stage);
      await writes.changedTables();
    }
    const url = (request.internal ? node?.internalUrl : node?.url) ?? '';
    const answer = await sendOver(url, request).catch((error: unknown) => ({
      status: 599,
      type: '',
      text: String(error),
    }));
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    const written = await writes.changedTables();
    const changed = answer.status < 300 ? [] : written;
    const fault = faultOf(fuzzed, answer) ?? (changed.length > 0 ? `${answer.status} wrote ${changed}` : null);
    if (fault !== null)
      faults.set(`${contract.id}: ${fault.slice(0, 120)}`, { ...request, body: request.body?.slice(0, 500) });
  };
  const requests = fuzzRequests(stage, (contract) => (isInternal(contract) ? cluster.operatorKey : stage.key));
  await fc.assert(fc.asyncProperty(requests, tryOne), {
    ...{ seed: SEED, numRuns: RUNS_MAX, interruptAfterTimeLimit: SECONDS * 1000, markInterruptAsFailure: false },
  });
  expect(Object.fromEntries(faults), `${sent} requests, ${[...statuses].join(' ')}`).toEqual({});
  // it got somewhere: things were done, and things were refused
  expect(statuses.get(200)).toBeGreaterThan(0);
  expect(statuses.get(400)).toBeGreaterThan(0);
});
