import { backoffMs, isPassing } from './backoff.ts';
import { ApiError, BadAnswerError, ConnectionError, type Problem } from './errors.ts';
import { Patience } from './patience.ts';

export interface TurnkeeperOptions {
  /** Where Turnkeeper is: one address, or those of several nodes. When one does not answer, the next is asked. */
  readonly baseUrl: string | readonly string[];
  /** A key, a client token, or what gets one: it is called for every request. */
  readonly auth: string | (() => string | Promise<string>);
  /** For a call with all its tries, milliseconds. Default 60,000. */
  readonly timeoutMs?: number;
  /** Tries of a call. Default 5. */
  readonly attemptsMax?: number;
  /** Instead of the global one. */
  readonly fetch?: typeof globalThis.fetch;
}

/** What every call takes. */
export interface CallOptions {
  /** Aborts the call, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** For this call with all its tries, milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** What calls take that a repetition would do twice, were it not for the key. One is made when none is given. */
export interface WriteOptions extends CallOptions {
  readonly idempotencyKey?: string | undefined;
}

export type QueryValue = string | number | boolean | readonly string[] | undefined;

/** Bytes that can be sent again. */
export type FileBody = Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | string;

/** A request. */
export interface Call {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, QueryValue>> | undefined;
  readonly body?: unknown;
  /** Instead of a JSON body. */
  readonly file?: FileBody;
  readonly headers?: Readonly<Record<string, string>>;
  /** Without it only a GET is ever repeated. */
  readonly idempotencyKey?: string | undefined;
  /** How long the server may keep it before it answers, milliseconds. */
  readonly waitMs?: number;
}

const TIMEOUT_MS_DEFAULT = 60_000;
const ATTEMPTS_DEFAULT = 5;
/** A node that says nothing for so long is taken for gone. */
const ANSWER_MS_MAX = 15_000;

/** Sends requests: to one node after the other, again where that is safe, within the caller's time. */
export class Transport {
  readonly #options: TurnkeeperOptions;
  readonly #nodes: readonly string[];
  #node = 0;

  constructor(options: TurnkeeperOptions) {
    this.#options = options;
    const { auth, baseUrl = [] } = options;
    // other APIs' addresses end in /v1, and so do those that people copy
    this.#nodes = [baseUrl].flat().map((url) => url.replace(/\/+$/, '').replace(/\/v1$/, ''));
    if (this.#nodes.length === 0) throw new TypeError('baseUrl: give at least one address');
    if (typeof auth !== 'function' && !auth) throw new TypeError('auth: give a key, a token, or what gets one');
  }

  /**
   * Sends a request until it is answered, and reads the answer. A request that changes something is repeated only with
   * its idempotency key: without one, nobody knows what the first has done.
   * @throws ApiError, ConnectionError, DeadlineError, BadAnswerError, or the signal's reason
   */
  json<Answer>(call: Call, options?: CallOptions): Promise<Answer> {
    const read = async (answer: Response) => {
      const text = await answer.text();
      return () => (text === '' ? undefined : parse(text, answer.status)) as Answer;
    };
    return this.#ask(call, options, read);
  }

  /** As `json`, of an answer that is a file. */
  blob(call: Call, options?: CallOptions): Promise<Blob> {
    return this.#ask(call, options, async (answer) => {
      const blob = await answer.blob();
      return () => blob;
    });
  }

  async #ask<Answer>(call: Call, { signal, timeoutMs }: CallOptions = {}, read: Reader<Answer>): Promise<Answer> {
    const { attemptsMax = ATTEMPTS_DEFAULT, timeoutMs: usualMs = TIMEOUT_MS_DEFAULT } = this.#options;
    const patience = new Patience({ signal, timeoutMs: timeoutMs ?? usualMs });
    const isSafe = call.method === 'GET' || call.idempotencyKey !== undefined;
    try {
      for (let attempt = 1; ; attempt++) {
        try {
          return await this.#once(call, patience.signal, read);
        } catch (error) {
          const pauseMs = backoffMs(attempt, error instanceof ApiError ? error.retryAfterMs : undefined);
          if (!isSafe || attempt >= attemptsMax || !isPassing(error) || !patience.has(pauseMs)) throw error;
          this.next();
          await patience.pause(pauseMs);
        }
      }
    } finally {
      patience.end();
    }
  }

  /**
   * Sends a request once, and gives the answer when its head has come; its body is the caller's, for as long as the
   * signal does not abort.
   */
  async open(call: Call, signal: AbortSignal): Promise<Response> {
    const { auth, fetch = globalThis.fetch } = this.#options;
    const token = typeof auth === 'string' ? auth : await auth();
    signal.throwIfAborted();
    const url = this.#urlOf(call);
    const answer = await answered(signal, nodeOf(url), () =>
      fetch(url, {
        method: call.method,
        headers: headersOf(call, token),
        ...bodyOf(call),
        cache: 'no-store',
        credentials: 'omit',
        signal,
      }),
    );
    if (!answer.ok) throw await refusalOf(answer, signal);
    return answer;
  }

  /** From now on the next node is asked. */
  next(): void {
    this.#node = (this.#node + 1) % this.#nodes.length;
  }

  async #once<Answer>(call: Call, signal: AbortSignal, read: Reader<Answer>): Promise<Answer> {
    const timeoutMs = ANSWER_MS_MAX + (call.waitMs ?? 0);
    const patience = new Patience({ signal, timeoutMs, overdue: () => new ConnectionError('no answer in time') });
    try {
      const answer = await this.open(call, patience.signal);
      const whole = await answered(patience.signal, nodeOf(answer.url), () => read(answer));
      return whole();
    } finally {
      patience.end();
    }
  }

  #urlOf({ path, query = {} }: Call): string {
    const text = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) if (value !== undefined) text.set(name, String(value));
    return `${this.#nodes[this.#node]}${path}${text.size === 0 ? '' : `?${text}`}`;
  }
}

/** A key that no other call has. (`crypto.randomUUID` is not there on pages without TLS.) */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Reads an answer to its end; what was read is made sense of later: that is no fault of the connection. */
type Reader<Answer> = (answer: Response) => Promise<() => Answer>;

function bodyOf({ body, file }: Call): { body?: FileBody } {
  if (file !== undefined) return { body: file };
  return body === undefined ? {} : { body: JSON.stringify(body) };
}

function headersOf({ body, headers, idempotencyKey }: Call, token: string): Record<string, string> {
  return {
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    ...headers,
  };
}

/** What fetch throws tells nothing that programs could rely on; when the signal was the reason, its reason is. */
async function answered<Result>(signal: AbortSignal, where: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new ConnectionError(`${where} did not answer, or the answer was cut off`, { cause });
  }
}

/** An address without its path. */
function nodeOf(url: string): string {
  return /^[a-z]+:\/\/[^/]*/i.exec(url)?.[0] ?? 'the server';
}

async function refusalOf(answer: Response, signal: AbortSignal): Promise<ApiError | BadAnswerError> {
  const text = await answered(signal, nodeOf(answer.url), () => answer.text());
  if (answer.headers.get('content-type')?.includes('problem+json') !== true) return new BadAnswerError(answer.status);
  const problem = parse(text, answer.status) as Problem;
  const afterSeconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
  return new ApiError(answer.status, {
    ...problem,
    requestId: problem.requestId ?? answer.headers.get('turnkeeper-request-id') ?? undefined,
    retryAfterMs: problem.retryAfterMs ?? (Number.isFinite(afterSeconds) ? afterSeconds * 1000 : undefined),
  });
}

/** @throws BadAnswerError */
export function parse(text: string, status: number): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BadAnswerError(status, { cause });
  }
}
