import fc from 'fast-check';
import { type Contract, contracts, isInternal, type Parameter } from './api-contract.ts';
import { nastyBodies, nastyTexts, nearlyValid } from './hostile-values.ts';
import { allowedRequest, type WireRequest } from './requests.ts';
import { pathValue, type Stage } from './stage.ts';
import { validValues } from './valid-values.ts';

/** A request of any kind, and what it is said to be for. */
export interface FuzzRequest {
  readonly contract: Contract;
  readonly request: WireRequest;
}

/** Parts of paths that no encoder would make. */
const RAW_PARTS = ['%00', '%ff', '%zz', '%ed%a0%80', 'a%2fb', `a${'x'.repeat(3000)}`, `agt_${'0'.repeat(26)}`];

/** Requests from the document: some as it allows them, some nearly so, some hostile. `stage()` has the things as they are then. */
export function fuzzRequests(stage: Stage, token: (contract: Contract) => string): fc.Arbitrary<FuzzRequest> {
  return fc.oneof(...contracts().map((contract) => requestsFor(contract, stage, token(contract))));
}

function requestsFor(contract: Contract, stage: Stage, token: string): fc.Arbitrary<FuzzRequest> {
  return fc
    .record({
      path: pathsOf(contract, stage),
      query: queriesOf(contract, stage),
      headers: headersOf(token),
      body: bodiesOf(contract, stage),
      type: often('application/json', fc.constantFrom('text/plain', 'application/json; charset=utf-8', 'a/b')),
    })
    .map(({ path, query, headers, body, type }) => ({
      contract,
      request: {
        ...{ method: contract.method, internal: isInternal(contract), path: `${path}${query}` },
        headers: body === undefined ? headers : { ...headers, 'content-type': type },
        ...(body !== undefined && { body }),
      },
    }));
}

function often<T>(usual: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
}

function pathsOf({ path }: Contract, stage: Stage): fc.Arbitrary<string> {
  const parts = path.split('/').map((part) => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined) return fc.constant(part);
    const known = pathValue(path, name, stage) ?? 'missing';
    return fc.oneof(
      { weight: 8, arbitrary: fc.constant(encodeURIComponent(known)) },
      { weight: 2, arbitrary: fc.constant(encodeURIComponent(stage.names[name] ?? known)) },
      { weight: 2, arbitrary: fc.constantFrom(...RAW_PARTS) },
      // a part of dots only is another path
      { weight: 2, arbitrary: nastyTexts.map((text) => encodeURIComponent(`${text.toWellFormed()}_`.slice(0, 600))) },
    );
  });
  return fc.tuple(...parts).map((all) => all.join('/'));
}

function queriesOf({ parameters }: Contract, stage: Stage): fc.Arbitrary<string> {
  const known = parameters.filter((parameter) => parameter.in === 'query').map((one) => entriesOf(one, stage));
  const stray = fc.oneof(
    { weight: 19, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.tuple(nastyTexts, nastyTexts).map((pair) => [...pair]) },
  );
  return fc.tuple(stray, ...known).map((entries) => {
    const pairs = entries
      .filter((pair) => pair.length === 2)
      .map(([name = '', value = '']): [string, string] => [name, value]);
    return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
  });
}

/** How often it is there, and whether it may be: what is required mostly is. A wait would only take time. */
function entriesOf({ name, required, schema }: Parameter, stage: Stage): fc.Arbitrary<string[]> {
  const usual = stage.ids[name] ?? null;
  const valid = name === 'wait' ? fc.constant('0') : usual === null ? validValues(schema) : fc.constant(usual);
  return fc.oneof(
    { weight: required ? 1 : 8, arbitrary: fc.constant<string[]>([]) },
    { weight: required ? 18 : 3, arbitrary: valid.map((value) => [name, String(value)]) },
    { weight: 1, arbitrary: nastyTexts.map((text) => [name, name === 'wait' ? `${text}x` : text]) },
  );
}

/** Header values are bytes without controls, else no client would send them. */
const headerTexts = fc.oneof(
  fc.constantFrom('"1"', '"0"', '*', 'W/"1"', '"1", "2"', '""', 'x'.repeat(4000)),
  fc.string(),
);

function headersOf(token: string): fc.Arbitrary<Readonly<Record<string, string>>> {
  const some = fc.option(headerTexts, { freq: 6, nil: undefined });
  return fc
    .record({
      authorization: often(
        `Bearer ${token}`,
        fc.constantFrom('', 'Bearer ', 'Bearer tk_a_b', 'Basic eDp5', `bearer ${token}x`),
      ),
      'if-match': fc.option(headerTexts, { freq: 4, nil: undefined }),
      'idempotency-key': some,
      'last-event-id': some,
      traceparent: some,
    })
    .map((headers) =>
      Object.fromEntries(Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== undefined)),
    );
}

/** Some operations write something only for a body that schemas cannot tell: that one is tried as it is, too. */
function bodiesOf(contract: Contract, stage: Stage): fc.Arbitrary<string | undefined> {
  const { body, method } = contract;
  if (method === 'GET') return fc.constant(undefined);
  if (body === null) return often<string | undefined>(undefined, nastyBodies);
  const toText = (values: fc.Arbitrary<unknown>) => values.map((value) => JSON.stringify(value));
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(allowedRequest(contract, stage).body) },
    { weight: 4, arbitrary: toText(validValues(body)) },
    { weight: 6, arbitrary: toText(nearlyValid(body)) },
    { weight: 2, arbitrary: nastyBodies },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}
