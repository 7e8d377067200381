/** A server for tests that is a function in place of `fetch`: each request gets the next answer of a script. */
export interface Asked {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
}

type Answer = Response | Error | ((asked: Asked, signal: AbortSignal) => Response | Promise<Response>);

export interface TestServer {
  readonly fetch: typeof globalThis.fetch;
  readonly asked: Asked[];
}

export function testServer(answers: readonly Answer[]): TestServer {
  const asked: Asked[] = [];
  return {
    asked,
    fetch: async (input, init = {}) => {
      const request = new Request(input, init);
      const body = typeof init.body === 'string' ? init.body : undefined;
      asked.push({ url: new URL(request.url), method: request.method, headers: request.headers, body });
      const answer = answers[asked.length - 1];
      if (answer === undefined) throw new TypeError('the script of the test server is over');
      if (answer instanceof Error) throw answer;
      const [last] = asked.slice(-1);
      return typeof answer === 'function' ? answer(last as Asked, init.signal as AbortSignal) : answer;
    },
  };
}

export function problem(status: number, code: string, more: object = {}): Response {
  const retryable = status === 429 || status >= 503;
  const body = { type: `urn:${code}`, title: code, status, code, retryable, requestId: `req-${code}`, ...more };
  return Response.json(body, { status, headers: { 'content-type': 'application/problem+json' } });
}

/** A comment of a stream that says where its reader stands though nothing has come. */
export const standAt = (id: string) => ({ standAt: id });

/** A stream that says this and then ends, or breaks, or says no more until its reader goes. */
export function sse(events: readonly object[], end: 'ends' | 'breaks' | 'stays' = 'ends') {
  return (_: Asked, signal: AbortSignal): Response => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const text = events.map((event) =>
          'standAt' in event
            ? `: cursor ${event.standAt}\n\n`
            : `${'id' in event ? `id: ${event.id}\n` : ''}data: ${JSON.stringify(event)}\n\n`,
        );
        controller.enqueue(new TextEncoder().encode(text.join('')));
        if (end === 'ends') controller.close();
        // a stream that has failed forgets what was not read yet
        if (end === 'breaks') setTimeout(() => controller.error(new TypeError('terminated')), 5);
        signal.addEventListener('abort', () => end === 'stays' && controller.error(signal.reason));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
  };
}
