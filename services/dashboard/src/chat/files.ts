import type { Upload } from './outbox.ts';
import type { TokenSource } from './tokens.ts';
import { wordsFor } from './words.ts';

const UPLOAD_MS_MAX = 300_000;
const DOWNLOAD_MS_MAX = 60_000;

/** Files of a visitor: sent before the message that names them, read with its token. */
export class Files {
  readonly #token: TokenSource;

  constructor(token: TokenSource) {
    this.#token = token;
  }

  /** @throws Error with a message for people */
  async upload(file: File): Promise<Upload> {
    const answer = await fetch(`/v1/uploads?name=${encodeURIComponent(file.name)}`, {
      method: 'POST',
      headers: { ...(await this.#headers()), 'content-type': file.type || 'application/octet-stream' },
      body: file,
      signal: AbortSignal.timeout(UPLOAD_MS_MAX),
    });
    const body = (await answer.json()) as { attachmentId: string; mime: string; code?: string };
    if (!answer.ok) throw new Error(wordsFor(body.code ?? ''));
    return { id: body.attachmentId, name: file.name, mime: body.mime, size: file.size };
  }

  async read(ref: string): Promise<Blob> {
    const signal = AbortSignal.timeout(DOWNLOAD_MS_MAX);
    const answer = await fetch(`/v1/attachments/${encodeURIComponent(ref)}`, {
      headers: await this.#headers(),
      signal,
    });
    if (!answer.ok) throw new Error(wordsFor(''));
    return answer.blob();
  }

  async #headers(): Promise<Record<string, string>> {
    return { authorization: `Bearer ${(await this.#token(false)) ?? ''}` };
  }
}
