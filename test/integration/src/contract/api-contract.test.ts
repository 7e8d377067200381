/** Every route of the document with every kind of credential, and with the ids of somebody else. */
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Contract, contracts, isInternal } from './api-contract.ts';
import { allCredentials, type Credential, refusalOf } from './credentials.ts';
import { allowedRequest, comparable, sendOver, type WireAnswer, type WireRequest } from './requests.ts';
import { buildStage, type Stage } from './stage.ts';

let cluster: Cluster;
let own: Stage;
let foreign: Stage;
let credentials: readonly Credential[];

beforeAll(async () => {
  cluster = await startCluster({ urls: inject('urls'), ingress: 1, workers: 1, coordinators: 1, mode: 'inline' });
  [own, foreign] = await Promise.all([buildStage(cluster), buildStage(cluster)]);
  credentials = await allCredentials(cluster, own.tenant, own.key);
});
afterAll(() => cluster[Symbol.asyncDispose]());

function send(request: WireRequest, headers: Readonly<Record<string, string>>): Promise<WireAnswer> {
  const [node] = cluster.ingress;
  const url = (request.internal ? node?.internalUrl : node?.url) ?? '';
  return sendOver(url, { ...request, headers: { ...request.headers, ...headers } });
}

/** What the document does not allow of an answer. */
function faultsOf(contract: Contract, answer: WireAnswer): string[] {
  const { status, type, text } = answer;
  if (status < 300) {
    const fault = type.includes('json') ? contract.faultOf(status, JSON.parse(text)) : null;
    return fault === null ? [] : [fault];
  }
  const code = contract.codeIn(answer);
  if (code === null) return [`${status} as ${type}`];
  return contract.codesOf(status).includes(code) ? [] : [`${status} ${code} is not in the document`];
}

const all = contracts();
/** What they write is undone by nobody: they come last. */
const isDeletion = ({ method }: Contract) => method === 'DELETE';
const ordered = [...all.filter((one) => !isDeletion(one)), ...all.filter(isDeletion)];

describe('each operation is opened by what the document says, and by nothing else', () => {
  test.for(ordered)('$method $path', async (contract) => {
    const found: unknown[] = [];
    for (const credential of credentials) {
      const refusal = refusalOf(contract, credential);
      // whoever is let in must find nothing: the things of this test stay for the next one
      const answer = await send(allowedRequest(contract, refusal === null ? nothing(own) : own), credential.headers);
      const code = contract.codeIn(answer);
      const isRight =
        refusal === null
          ? contract.security.length === 0 || ![401, 403].includes(answer.status)
          : answer.status === refusal.status && code === refusal.code;
      const faults = faultsOf(contract, answer);
      if (!isRight || faults.length > 0)
        found.push({ by: credential.kind, refusal, status: answer.status, code, faults });
    }
    expect(found).toEqual([]);
  });
});

test('each operation is done for its own tenant, and answers as the document says', async () => {
  const stage = await buildStage(cluster);
  const found: unknown[] = [];
  for (const contract of ordered) {
    const key = isInternal(contract) ? cluster.operatorKey : stage.key;
    const answer = await send(allowedRequest(contract, stage), { authorization: `Bearer ${key}` });
    const faults = faultsOf(contract, answer);
    if (faults.length > 0) found.push({ id: contract.id, ...answer, faults });
  }
  expect(found).toEqual([]);
});

describe('what is foreign answers like what is missing', () => {
  const about = ordered.filter((one) => one.path.includes('{') && !isInternal(one) && one.security.length > 0);
  test.for(about)('$method $path', async (contract) => {
    const ask = async (stage: Stage) =>
      comparable(await send(allowedRequest(contract, stage), { authorization: `Bearer ${own.key}` }));
    const missing = await ask(nothing(foreign));
    expect(missing).toMatchObject({ status: 404 });
    expect(await ask(foreign)).toEqual(missing);
    expect(await ask({ ...foreign, ids: { ...foreign.ids, ...foreign.names } })).toEqual(missing);
  });

  test('in bodies and queries, too', async () => {
    const ids = { ...own.ids, agent: foreign.ids['agent'] ?? '', account: foreign.ids['account'] ?? '' };
    const nobody = { ...own.ids, agent: `agt_${'0'.repeat(26)}`, account: `acc_${'0'.repeat(26)}` };
    const named = ['createMessage', 'sendOutbound', 'createChatCompletion'];
    const created = all.filter(({ id }) => named.includes(id));
    for (const contract of created) {
      const ask = async (given: Stage['ids']) =>
        comparable(
          await send(allowedRequest(contract, { ...own, ids: given }), { authorization: `Bearer ${own.key}` }),
        );
      const missing = await ask(nobody);
      expect(missing).toMatchObject({ status: 404 });
      expect(await ask(ids)).toEqual(missing);
    }
    for (const contract of all.filter(({ parameters }) => parameters.some(({ name }) => name === 'agentId'))) {
      const request = allowedRequest(contract, own);
      const ask = async (agent: string | undefined) =>
        comparable(
          await send(
            { ...request, path: `${request.path}${request.path.includes('?') ? '&' : '?'}agentId=${agent}` },
            { authorization: `Bearer ${own.key}` },
          ),
        );
      const missing = await ask(nobody.agent);
      expect(missing).toMatchObject({ status: 404 });
      expect(await ask(ids.agent)).toEqual(missing);
    }
  });
});

/** Ids of the right form that name nothing. */
function nothing(stage: Stage): Stage {
  const ids = Object.entries(stage.ids).map(([name, id]) => [name, nameless(name, id)]);
  return { ...stage, ids: Object.fromEntries(ids) };
}

function nameless(name: string, id: string): string {
  if (name === 'spare') return 'nobody';
  return id.replace(/(?<=^[a-z]{3}_)[0-9a-z]{26}$/, '0'.repeat(26)).replace(/^talk-.*/, 'talk-nothing');
}
