import { setTimeout as sleep } from 'node:timers/promises';
import { type FakeServer, sendJson, startFakeServer } from './http-server.ts';

/**
 * A fake outside platform that gets the signed POSTs of webhook accounts.
 *
 * `POST /in[/anything]` is the reply address. By default it answers 200 and the send is recorded.
 * Scripted by command: `POST /control {"next":[{status?, retryAfter?, delayMs?, reset?: "before"|"after", hang?}]}`: the next POSTs take
 * these steps, in order. `reset: "before"` cuts the connection before the body is recorded (nothing reached the platform),
 * `"after"` records it and cuts before an answer (the sender cannot know).
 * Scripted by text: a reply text holding `[[platform STATUS]]` is refused with that status, once per delivery.
 * `GET /control/sends?from=N`: what was recorded, in order. `DELETE /control` forgets all.
 */
export interface FakePlatform extends FakeServer {
  readonly sends: readonly RecordedSend[];
  script(...steps: PlatformStep[]): void;
}

export interface PlatformStep {
  readonly status?: number;
  readonly retryAfter?: number;
  readonly delayMs?: number;
  readonly reset?: 'before' | 'after';
  readonly hang?: boolean;
}

export interface RecordedSend {
  readonly path: string;
  readonly atMs: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** As it was signed. */
  readonly rawBody: string;
  /** True when the platform took it (2xx, or `reset: "after"`). */
  readonly taken: boolean;
  readonly body: {
    readonly deliveryId: string;
    readonly attempt: number;
    readonly recovered: boolean;
    readonly runId: string;
    readonly turnId: string;
    readonly sessionKey: string;
    readonly seq: number;
    readonly startedAt: string;
    readonly finishedAt: string;
    readonly text: string;
  };
}

/** Starts it on a free loopback port, or the one given. */
export async function startFakePlatform(port = 0): Promise<FakePlatform> {
  const sends: RecordedSend[] = [];
  const steps: PlatformStep[] = [];
  const refusedByText = new Set<string>();
  const stepFor = (body: RecordedSend['body']): PlatformStep => {
    const next = steps.shift();
    if (next !== undefined) return next;
    const status = /\[\[platform (\d{3})\]\]/.exec(body.text)?.[1];
    if (status === undefined || refusedByText.has(body.deliveryId)) return {};
    refusedByText.add(body.deliveryId);
    return { status: Number(status) };
  };
  const server = await startFakeServer(async (request, response) => {
    if (request.path.startsWith('/control')) {
      if (request.method === 'POST') steps.push(...(JSON.parse(request.body) as { next: PlatformStep[] }).next);
      if (request.method === 'DELETE') {
        sends.length = 0;
        steps.length = 0;
      }
      const from = Number(new URL(request.path, 'http://fake').searchParams.get('from') ?? 0);
      return sendJson(response, 200, request.path.startsWith('/control/sends') ? sends.slice(from) : { ok: true });
    }
    if (request.method !== 'POST' || !request.path.startsWith('/in'))
      return sendJson(response, 404, { error: 'unknown path' });
    const body = JSON.parse(request.body) as RecordedSend['body'];
    const step = stepFor(body);
    if (step.reset === 'before') {
      response.destroy();
      return;
    }
    const status = step.status ?? 200;
    const taken = step.reset === 'after' || step.hang === true || (status >= 200 && status < 300);
    sends.push({ path: request.path, atMs: Date.now(), headers: request.headers, rawBody: request.body, taken, body });
    if (step.delayMs !== undefined) await sleep(step.delayMs);
    if (step.hang === true) return;
    if (step.reset === 'after') {
      response.destroy();
      return;
    }
    if (step.retryAfter !== undefined) response.setHeader('retry-after', String(step.retryAfter));
    sendJson(response, status, { id: `platform-${sends.length}` });
  }, port);
  return { ...server, sends, script: (...next) => steps.push(...next) };
}
