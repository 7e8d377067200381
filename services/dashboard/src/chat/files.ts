import type { Upload } from './outbox.ts';
import type { TokenSource } from './tokens.ts';
import { wordsFor } from './words.ts';

const UPLOAD_MS_MAX = 300_000;
const DOWNLOAD_MS_MAX = 60_000;

/** Why a file did not arrive, in words. */
export class FileFault extends Error {
  /** The same file may well be taken at another try. */
  readonly isPassing: boolean;

  constructor(message: string, { isPassing }: { readonly isPassing: boolean }) {
    super(message);
    this.isPassing = isPassing;
  }
}

export interface UploadOptions {
  /** How much has been sent, 0 to 1. */
  readonly onProgress: (part: number) => void;
  readonly signal: AbortSignal;
}

/** Files of a visitor: sent before the message that names them, read with its token. */
export class Files {
  readonly #source: TokenSource;
  #token: Promise<string | null> | null = null;

  constructor(token: TokenSource) {
    this.#source = token;
  }

  /** @throws FileFault */
  async upload(file: File, options: UploadOptions): Promise<Upload> {
    const answer = await this.#withToken((token) => put(file, token, options));
    if (answer.status < 200 || answer.status >= 300) throw faultOf(answer);
    const { attachmentId, mime } = JSON.parse(answer.text) as { readonly attachmentId: string; readonly mime: string };
    return { id: attachmentId, name: file.name, mime, size: file.size };
  }

  /** @throws FileFault */
  async read(ref: string): Promise<Blob> {
    const path = `/v1/attachments/${encodeURIComponent(ref)}`;
    const answer = await this.#withToken((token) =>
      fetch(path, { headers: headersOf(token), signal: AbortSignal.timeout(DOWNLOAD_MS_MAX) }),
    ).catch(() => null);
    if (answer?.ok === true) return answer.blob();
    const isGone = answer?.status === 404;
    throw new FileFault(isGone ? 'is not there any more' : 'could not be loaded', { isPassing: !isGone });
  }

  /** One token for all that is asked meanwhile; a refused one is replaced once. */
  async #withToken<Answer extends { readonly status: number }>(ask: (token: string) => Promise<Answer>) {
    this.#token ??= this.#ask(false);
    const used = this.#token;
    const answer = await ask((await used) ?? '');
    if (answer.status !== 401) return answer;
    // who was refused beside this one may have replaced it
    if (this.#token === used || this.#token === null) this.#token = this.#ask(true);
    return ask((await this.#token) ?? '');
  }

  #ask(isStale: boolean): Promise<string | null> {
    const asked = this.#source(isStale);
    asked.catch(() => {
      if (this.#token === asked) this.#token = null;
    });
    return asked;
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** (`fetch` does not say how much of a body has been sent.) */
function put(file: File, token: string, { onProgress, signal }: UploadOptions): Promise<Answer> {
  if (signal.aborted) return Promise.resolve({ status: 0, text: '' });
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    signal.addEventListener('abort', abort);
    request.open('POST', `/v1/uploads?name=${encodeURIComponent(file.name)}`);
    request.timeout = UPLOAD_MS_MAX;
    request.setRequestHeader('content-type', file.type || 'application/octet-stream');
    for (const [name, value] of Object.entries(headersOf(token))) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
    request.onloadend = () => {
      signal.removeEventListener('abort', abort);
      resolve({ status: request.status, text: request.responseText });
    };
    request.send(file);
  });
}

function headersOf(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** Status 0: nobody answered. */
function faultOf({ status, text }: Answer): FileFault {
  if (status === 0) return new FileFault('could not be sent: there is no connection', { isPassing: true });
  return new FileFault(wordsFor(codeOf(text), FILE_WORDS), { isPassing: status === 429 || status >= 500 });
}

const FILE_WORDS: Readonly<Record<string, string>> = {
  attachment_too_large: 'is too large',
  upload_incomplete: 'did not arrive as a whole',
  quota_exceeded: 'could not be sent: there is no room for more files here',
  rate_limited: 'could not be sent: too many at once',
  unauthenticated: 'could not be sent: you are signed out',
  '': 'could not be sent',
};

function codeOf(text: string): string {
  try {
    return String((JSON.parse(text) as { readonly code?: unknown }).code ?? '');
  } catch {
    // not an answer of ours
    return '';
  }
}
