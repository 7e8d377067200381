import {
  Agent,
  DecoratorHandler,
  type Dispatcher,
  errors,
  type RequestInit as UndiciInit,
  fetch as undiciFetch,
} from 'undici';
import type { Metrics } from '../telemetry/index.ts';
import { createAddressRules } from './address-rules.ts';
import { type ConnectionCaps, createConnectionCaps } from './connection-caps.ts';
import { createConnector } from './connector.ts';
import { EgressError } from './error.ts';
import { limitBody } from './limited-body.ts';

export interface EgressOptions {
  /** Exceptions from "public addresses only": CIDR blocks, or `loopback`. */
  readonly allow: readonly string[];
  /** Ports that these exceptions do not open: see `clusterPorts`. */
  readonly clusterPorts?: ReadonlySet<number>;
  readonly connectionsPerTenantMax: number;
  readonly metrics: Metrics;
  /** Name, connection and TLS together; and the wait for a free connection. Default 5 s. */
  readonly connectMs?: number;
}

export interface SendRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** From the connection to the answer's head. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Asked in the very moment before the first byte is written, when the connection stands; false withholds it. */
  readonly mayStart?: () => boolean;
}

export interface SendAnswer {
  readonly status: number;
  /** By lower-case name; the first where a name came twice. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface FetchLimits {
  /** Until the head of the answer. */
  readonly firstByteMs: number;
  /** Between two pieces of its body. */
  readonly idleMs: number;
  /** From the call to the body's end. */
  readonly totalMs: number;
  readonly bytesMax: number;
}

/**
 * The one way out for requests whose host a tenant chose. Only to allowed addresses, resolved once; redirects are
 * answers, never followed; capped in time, size and connections per tenant.
 */
export interface Egress extends AsyncDisposable {
  /** POSTs and resolves with the head of the answer; its body is thrown away. @throws EgressError */
  send(tenantId: string, request: SendRequest): Promise<SendAnswer>;
  /** A `fetch` for libraries that want one; bodies stream. Rejects with EgressError, and with the caller's own abort. */
  fetchFor(tenantId: string, limits: FetchLimits): typeof globalThis.fetch;
}

const CONNECT_MS = 5000;
const DISCARD_BYTES = 64 * 1024;

export function createEgress(options: EgressOptions): Egress {
  const connectMs = options.connectMs ?? CONNECT_MS;
  const blocked = options.metrics.counter('egress_blocked_total');
  const connect = createConnector({
    rules: createAddressRules(options.allow),
    clusterPorts: options.clusterPorts ?? new Set(),
    connectMs,
    onBlocked: (reason) => blocked.inc({ reason }),
  });
  const agent = new Agent({ connect });
  const caps = createConnectionCaps({ perTenantMax: options.connectionsPerTenantMax, waitMs: connectMs });
  return {
    send: (tenantId, request) => send({ agent, caps, tenantId }, request),
    fetchFor: (tenantId, limits) => fetchWith({ agent, caps, tenantId }, limits),
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

interface Way {
  readonly agent: Agent;
  readonly caps: ConnectionCaps;
  readonly tenantId: string;
}

async function send({ agent, caps, tenantId }: Way, request: SendRequest): Promise<SendAnswer> {
  const { origin, path } = targetOf(request.url);
  const giveBack = await caps.take(tenantId, request.signal);
  try {
    const answer = await gated(agent, request.mayStart).request({
      ...{ origin, path, method: 'POST' as const, headers: { ...request.headers }, body: request.body },
      headersTimeout: request.timeoutMs,
      bodyTimeout: request.timeoutMs,
      ...(request.signal ? { signal: request.signal } : {}),
    });
    // the head decides; a body that breaks off changes nothing, and one that trickles in ends with the time
    const deadline = startDeadline(request.timeoutMs);
    const onEnd = () => {
      deadline.clear();
      giveBack();
    };
    answer.body.dump({ limit: DISCARD_BYTES, signal: deadline.signal }).then(onEnd, onEnd);
    return { status: answer.statusCode, headers: firstOfEach(answer.headers) };
  } catch (err) {
    giveBack();
    throw failureOf(err, request.signal);
  }
}

/** Whatever came before it (a place, a name, a connection), the first byte is written only when `mayStart` says so. */
function gated(agent: Agent, mayStart: (() => boolean) | undefined): Dispatcher {
  if (!mayStart) return agent;
  return agent.compose((dispatch) => (settings, handler) => dispatch(settings, new Gate(handler, mayStart)));
}

class Gate extends DecoratorHandler {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #mayStart: () => boolean;

  constructor(handler: Dispatcher.DispatchHandler, mayStart: () => boolean) {
    super(handler);
    this.#handler = handler;
    this.#mayStart = mayStart;
  }

  onRequestStart(controller: Dispatcher.DispatchController, context: unknown): void {
    if (!this.#mayStart()) throw new EgressError('withheld');
    this.#handler.onRequestStart?.(controller, context);
  }
}

function fetchWith({ agent, caps, tenantId }: Way, limits: FetchLimits): typeof globalThis.fetch {
  const { firstByteMs: headersTimeout, idleMs: bodyTimeout } = limits;
  const dispatcher = agent.compose(
    (dispatch) => (settings, handler) => dispatch({ ...settings, headersTimeout, bodyTimeout }, handler),
  );
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    targetOf(url);
    const caller = init?.signal ?? undefined;
    const giveBack = await caps.take(tenantId, caller);
    const deadline = startDeadline(limits.totalMs);
    const onEnd = () => {
      deadline.clear();
      giveBack();
    };
    const translate = (err: unknown) => (caller?.aborted ? err : failureOf(err, deadline.signal));
    const signal = caller ? AbortSignal.any([caller, deadline.signal]) : deadline.signal;
    try {
      // the two fetch types differ in name only: Node's own is this library
      const settings = { ...init, redirect: 'manual', dispatcher, signal } as UndiciInit;
      const answer = await undiciFetch(url, settings);
      return limitBody(answer as unknown as Response, { bytesMax: limits.bytesMax, translate, onEnd });
    } catch (err) {
      onEnd();
      throw translate(err);
    }
  };
}

/** Unlike AbortSignal.timeout it can be called off, so that a long limit costs nothing after a short answer. */
function startDeadline(ms: number) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('the time is over', 'TimeoutError')), ms);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

/** @throws EgressError `blocked` for what is no plain HTTP address */
function targetOf(text: string): { origin: string; path: string } {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isWeb = url !== null && (url.protocol === 'https:' || url.protocol === 'http:');
  if (!isWeb || url.username !== '' || url.password !== '') throw new EgressError('blocked');
  return { origin: url.origin, path: url.pathname + url.search };
}

function firstOfEach(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

/** What went wrong, told from the class of the error or of one of its causes. `ours` = the signal that we gave along. */
function failureOf(err: unknown, ours: AbortSignal | undefined): EgressError {
  for (let at = err; at instanceof Error; at = at.cause) {
    if (at instanceof EgressError) return at;
    if (at instanceof errors.HeadersTimeoutError || at instanceof errors.BodyTimeoutError)
      return new EgressError('timeout', err);
    if (at.name === 'TimeoutError') return new EgressError('timeout', err);
  }
  return new EgressError(ours?.aborted ? 'aborted' : 'reset', err);
}
