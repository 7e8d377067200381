import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { type Contract, isInternal, type Json } from './api-contract.ts';
import { pathValue, type Stage } from './stage.ts';
import { validValues } from './valid-values.ts';

/** A request as it goes over the wire. */
export interface WireRequest {
  readonly method: string;
  readonly internal: boolean;
  /** Encoded, with its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Bodies that hold rules which schemas cannot say. */
const BODIES: Readonly<Record<string, (stage: Stage) => Json>> = {
  createMessage: ({ ids }) => ({ agentId: ids['agent'], sessionKey: ids['sessionKey'], text: 'hi' }),
  // no worker may be there to answer: a stream begins all the same
  createChatCompletion: ({ ids }) => ({
    model: ids['agent'],
    messages: [{ role: 'user', content: 'hi' }],
    stream: true,
  }),
  sendOutbound: ({ ids }) => ({ text: 'hi', accountId: ids['account'] }),
  updateSession: () => ({ label: `label ${randomBytes(4).toString('hex')}` }),
  answerInput: () => ({ text: 'yes' }),
};

/** A request that the document allows, about the things of `about`. */
export function allowedRequest(contract: Contract, about: Stage, seed = 1): WireRequest {
  const { id, method, body, parameters } = contract;
  const path = contract.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(pathValue(contract.path, name, about) ?? 'missing'),
  );
  const query = new URLSearchParams(
    parameters
      .filter((parameter) => parameter.in === 'query' && parameter.required)
      .map(({ name, schema }): [string, string] => [name, about.ids[name] ?? sampleOf(schema, seed)]),
  );
  const value = BODIES[id]?.(about) ?? (body === null ? undefined : onlyRequired(body, seed));
  return {
    ...{ method, internal: isInternal(contract) },
    path: query.size === 0 ? path : `${path}?${query}`,
    headers: value === undefined ? {} : { 'content-type': 'application/json' },
    ...(value !== undefined && { body: JSON.stringify(value) }),
  };
}

function sampleOf(schema: Json, seed: number): string {
  return String(fc.sample(validValues(schema), { numRuns: 1, seed })[0]);
}

function onlyRequired(schema: Json, seed: number): unknown {
  const { properties = {}, required = [] } = schema as { properties?: Json; required?: string[] };
  const kept = Object.fromEntries(required.map((name) => [name, properties[name]]));
  return fc.sample(validValues({ ...schema, properties: kept }), { numRuns: 1, seed })[0];
}

/** An answer, of which a stream is only looked at. */
export interface WireAnswer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

const ANSWER_MS_MAX = 20_000;

/** Sends it. @throws when no answer comes within 20 s: a hang */
export async function sendOver(url: string, { method, path, headers, body }: WireRequest): Promise<WireAnswer> {
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, AbortSignal.timeout(ANSWER_MS_MAX)]);
  const init = { method, headers, signal, ...(body !== undefined && { body }) };
  const answer = await fetch(url + path, init);
  const type = answer.headers.get('content-type') ?? '';
  if (type.startsWith('text/event-stream')) {
    gone.abort();
    return { status: answer.status, type, text: '' };
  }
  return { status: answer.status, type, text: await answer.text() };
}

/** An answer without what differs from request to request. */
export function comparable({ status, type, text }: WireAnswer): object {
  if (!type.includes('json')) return { status, type, text };
  const { requestId: _, ...told } = JSON.parse(text);
  return { status, type, told };
}
