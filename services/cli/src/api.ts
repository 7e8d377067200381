import { AppError, type HttpErrorCode } from '@turnkeeper/core';
import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { CliError } from './exit.ts';

export interface ApiCall {
  readonly url: string;
  readonly key: string;
  readonly method?: Dispatcher.HttpMethod;
  /** From the root: `/v1/runs?limit=5`. */
  readonly path: string;
  readonly body?: unknown;
  /** Instead of a JSON body. */
  readonly file?: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const TIMEOUT_MS = 70_000;
const problem = z.looseObject({
  code: z.string(),
  detail: z.string().optional(),
  title: z.string().optional(),
  errors: z.array(z.looseObject({ pointer: z.string(), code: z.string(), detail: z.string().optional() })).optional(),
});

/**
 * One call of the HTTP API; resolves with the answer's JSON.
 * @throws CliError `unreachable` when nothing answers; AppError with the server's code when it refuses
 */
export async function callApi(call: ApiCall): Promise<unknown> {
  const { url, key, path, body, method = 'GET', timeoutMs = TIMEOUT_MS } = call;
  const settings = {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
    },
    body: call.file ?? (body === undefined ? null : JSON.stringify(body)),
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    ...(call.signal ? { signal: call.signal } : {}),
  };
  const answer = await request(url + path, settings).catch((cause: unknown) => {
    if (call.signal?.aborted) throw cause;
    throw new CliError('unreachable', `Nothing answers at ${url}: is the cluster running ("npm start")?`, cause);
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 400) throw readRefusal(answer.statusCode, text);
  return parseJson(text);
}

/** What a problem document says. */
export function readRefusal(status: number, text: string): AppError {
  const parsed = problem.safeParse(parseJson(text));
  if (!parsed.success)
    return new AppError({ code: 'internal', message: `The server answered ${status} without a reason.` });
  const { code, detail, title, errors = [] } = parsed.data;
  // the codes are the server's contract; one that this program does not know yet is shown as it is
  return new AppError({
    code: code as HttpErrorCode,
    message: detail ?? title ?? `The server answered ${status}`,
    fields: errors.map(({ pointer, code, detail: why }) => ({ pointer, code, why })),
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
