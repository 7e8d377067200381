import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { z } from 'zod';

const TRY_TIMEOUT_MS = 15_000;
const BACKOFF_BASE_MS = 50;
const BACKOFF_CAP_MS = 2_000;

const ACCEPTED = z.object({ runId: z.string() });

/** What became of one message: taken, refused for good, or never made clear before the deadline. */
export type SendOutcome =
  | { readonly kind: 'accepted'; readonly runId: string }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unclear' };

/** Tries that were made again, by why. */
export interface Repeats {
  /** Nobody listened there: nothing was sent. */
  unreachable: number;
  /** Sent, and not answered. */
  cut: number;
  /** Answered that the store does not answer. */
  storeAway: number;
  /** Answered 5xx for any other reason. */
  unavailable: number;
}

export interface Sender {
  readonly repeats: Readonly<Repeats>;

  /** Sends until the outcome is clear: an unclear try (no answer, 5xx) is repeated with the same idempotency key, at the next address. */
  send(
    message: { readonly key: string; readonly apiKey: string; readonly body: string },
    signal: AbortSignal,
  ): Promise<SendOutcome>;
  close(): Promise<void>;
}

/** A client of `POST /v1/messages` over several ingress addresses; `giveUpMs` bounds the repeats of one message. */
export function createSender(
  urls: readonly string[],
  options: { readonly connections: number; readonly giveUpMs: number },
): Sender {
  const pools = urls.map(
    (url) => new Pool(url, { connections: options.connections, pipelining: 1, keepAliveTimeout: 30_000 }),
  );
  let turn = 0;
  const repeats: Repeats = { unreachable: 0, cut: 0, storeAway: 0, unavailable: 0 };
  const tryOnce = async (
    message: { key: string; apiKey: string; body: string },
    at: number,
  ): Promise<SendOutcome | 'again'> => {
    const pool = pools[at % pools.length];
    if (pool === undefined) return { kind: 'unclear' };
    try {
      const response = await pool.request({
        method: 'POST',
        path: '/v1/messages',
        headers: {
          authorization: `Bearer ${message.apiKey}`,
          'content-type': 'application/json',
          'idempotency-key': message.key,
        },
        body: message.body,
        headersTimeout: TRY_TIMEOUT_MS,
        bodyTimeout: TRY_TIMEOUT_MS,
      });
      const text = await response.body.text();
      if (response.statusCode === 202) return { kind: 'accepted', runId: ACCEPTED.parse(JSON.parse(text)).runId };
      if (response.statusCode < 500) return { kind: 'refused', status: response.statusCode };
      repeats[text.includes('"store_unavailable"') ? 'storeAway' : 'unavailable']++;
      return 'again';
    } catch (error) {
      if (error instanceof z.ZodError || error instanceof SyntaxError) throw error;
      repeats[isRefusal(error) ? 'unreachable' : 'cut']++;
      return 'again';
    }
  };
  return {
    repeats,
    async send(message, signal) {
      const deadline = performance.now() + options.giveUpMs;
      const first = turn++;
      for (let tries = 0; ; tries++) {
        const outcome = await tryOnce(message, first + tries);
        if (outcome !== 'again') return outcome;
        if (performance.now() > deadline || signal.aborted) return { kind: 'unclear' };
        await sleep(Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** tries) * (0.5 + Math.random()));
      }
    },
    close: async () => {
      await Promise.all(pools.map((pool) => pool.destroy()));
    },
  };
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
}
