import type { ServerResponse } from 'node:http';
import type { CompletionChunk, CompletionError, CompletionUsage } from '@turnkeeper/protocol';
import type { FastifyReply } from 'fastify';

/** Above this a slow reader gets no pieces: what is missing comes with the end. */
const UNSENT_BYTES_MAX = 256 * 1024;
/** A reader that takes nothing of the end for so long is cut off. */
const LAST_BYTES_MS = 10_000;

/** What every frame says. */
export type CompletionHead = Pick<CompletionChunk, 'id' | 'created' | 'model'>;

/** A streamed completion: frames of server-sent events, and `[DONE]` behind those of an answer that is whole. */
export class CompletionStream {
  readonly #response: ServerResponse;
  readonly #head: CompletionHead;

  /** Takes the answer over from the framework; the headers that it has already are kept. */
  constructor(reply: FastifyReply, head: CompletionHead) {
    this.#head = head;
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
    if (!this.#response.writableEnded) this.#response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  }

  #last(text: string): void {
    this.#response.end(text);
    this.#response.setTimeout(LAST_BYTES_MS, () => this.#response.destroy());
  }
}
