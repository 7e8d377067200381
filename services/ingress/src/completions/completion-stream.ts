import type { ServerResponse } from 'node:http';
import type { Clock } from '@turnkeeper/core';
import type { CompletionChunk, CompletionError, CompletionUsage } from '@turnkeeper/protocol';
import type { FastifyReply } from 'fastify';

/** Above this a slow reader gets no pieces: what is missing comes with the end. */
const UNSENT_BYTES_MAX = 256 * 1024;
/** One that stays so slow for so long loses its connection. */
const SLOW_MS = 30_000;
/** A reader that takes nothing of the end for so long is cut off. */
const LAST_BYTES_MS = 10_000;

/** What every frame says. */
export type CompletionHead = Pick<CompletionChunk, 'id' | 'created' | 'model'>;

export interface CompletionStreamOptions {
  readonly head: CompletionHead;
  readonly clock: Clock;
  /** Called when a reader that was too slow for too long was ended. */
  readonly onSlow: () => void;
}

/**
 * A streamed completion: frames of server-sent events, and `[DONE]` behind those of an answer that is whole. A reader that
 * is too slow gets no pieces; after 30 s of that it is told `slow_consumer` and cut off.
 */
export class CompletionStream {
  readonly #response: ServerResponse;
  readonly #head: CompletionHead;
  readonly #options: CompletionStreamOptions;
  #isWatched = false;

  /** Takes the answer over from the framework; the headers that it has already are kept. */
  constructor(reply: FastifyReply, options: CompletionStreamOptions) {
    this.#options = options;
    this.#head = options.head;
    reply.hijack();
    this.#response = reply.raw;
    const kept = Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined);
    this.#response.writeHead(200, {
      ...Object.fromEntries(kept),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    this.#chunk({ role: 'assistant', content: '' });
  }

  get isSlow(): boolean {
    return this.#response.writableLength > UNSENT_BYTES_MAX;
  }

  text(content: string): void {
    if (content !== '') this.#chunk({ content });
  }

  /** A line that readers ignore and that keeps proxies from closing. */
  beat(): void {
    if (!this.#response.writableEnded && !this.isSlow) this.#response.write(': \n\n');
  }

  /** `usage`: null when it was not asked for. */
  end(usage: CompletionUsage | null): void {
    this.#chunk({}, 'stop');
    if (usage !== null) this.#frame({ ...this.#head, object: 'chat.completion.chunk', choices: [], usage });
    this.#last('data: [DONE]\n\n');
  }

  fail(error: CompletionError): void {
    this.#last(`data: ${JSON.stringify(error)}\n\n`);
  }

  #chunk(delta: CompletionChunk['choices'][number]['delta'], finishReason: 'stop' | null = null): void {
    const choice = { index: 0, delta, logprobs: null, finish_reason: finishReason };
    this.#frame({ ...this.#head, object: 'chat.completion.chunk', choices: [choice] });
  }

  #frame(chunk: CompletionChunk): void {
    if (this.#response.writableEnded) return;
    this.#response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if (this.isSlow && !this.#isWatched) void this.#watch();
  }

  /** Until the reader has taken all that waits for it, or its time is over. */
  async #watch(): Promise<void> {
    this.#isWatched = true;
    const over = new AbortController();
    const taken = () => over.abort();
    this.#response.once('drain', taken).once('close', taken);
    await this.#options.clock.sleep(SLOW_MS, over.signal);
    this.#response.removeListener('drain', taken).removeListener('close', taken);
    this.#isWatched = false;
    if (!this.isSlow || this.#response.writableEnded || this.#response.destroyed) return;
    const message = 'the answer was not read fast enough; the run goes on';
    this.fail({ error: { message, type: 'server_error', param: null, code: 'slow_consumer', runId: this.#head.id } });
    this.#options.onSlow();
  }

  #last(text: string): void {
    if (this.#response.writableEnded) return;
    this.#response.end(text);
    this.#response.setTimeout(LAST_BYTES_MS, () => this.#response.destroy());
  }
}
