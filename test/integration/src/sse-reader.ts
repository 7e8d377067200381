/** Reads streams of server-sent events as a test likes it: until it has enough, then the connection is cut. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly sessionKey: string;
  readonly seq?: number;
  readonly turnId?: string;
  readonly attempt?: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export type Judge = (events: readonly SseEvent[]) => boolean;

interface SseCall {
  readonly url: string;
  readonly key: string;
  /** `Last-Event-ID` */
  readonly after?: string | undefined;
}

const LIMIT_MS = 90_000;

/**
 * `begun` resolves with `stream.replayed`; `events` with all events up to the one that is enough, or to where the stream
 * ended or broke. Both reject when that takes too long, or the answer is no stream.
 */
export function readSse(call: SseCall, isEnough: Judge) {
  const begun = Promise.withResolvers<void>();
  const events = read(call, (all) => {
    if (all.at(-1)?.type === 'stream.replayed') begun.resolve();
    return isEnough(all);
  });
  events.catch((error: unknown) => begun.reject(error));
  begun.promise.catch(() => undefined);
  return { begun: begun.promise, events };
}

async function read({ url, key, after }: SseCall, isEnough: Judge): Promise<SseEvent[]> {
  const stop = new AbortController();
  const late = AbortSignal.timeout(LIMIT_MS);
  const headers = { authorization: `Bearer ${key}`, ...(after === undefined ? {} : { 'last-event-id': after }) };
  const answer = await fetch(url, { headers, signal: AbortSignal.any([stop.signal, late]) });
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  const events: SseEvent[] = [];
  let text = '';
  try {
    for await (const part of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += part;
      for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
        const id = /^id: (.*)$/m.exec(text.slice(0, end))?.[1];
        const json = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
        text = text.slice(end + 2);
        if (json === undefined) continue;
        events.push({ id, ...JSON.parse(json) });
        if (isEnough(events)) return events;
      }
    }
  } catch (error) {
    // a node that was killed breaks the connection: what came counts
    if (late.aborted) throw error;
  } finally {
    stop.abort();
  }
  return events;
}
