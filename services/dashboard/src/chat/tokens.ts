import type { Settings } from './settings.ts';

/** Gives the client token; `isStale`: the last one was refused. Null: this page has none to give. */
export type TokenSource = (isStale: boolean) => Promise<string | null>;

const ANSWER_MS_MAX = 10_000;

/**
 * Where the visitor's token comes from: the page that embeds this one; else the address (`#token=`); else the server, if
 * it lets guests in. (Decision 0010.)
 */
export function tokenSource({ token, embeddedBy }: Settings): TokenSource {
  if (embeddedBy !== null) return (isStale) => askParent(embeddedBy, isStale);
  if (token !== null) return async (isStale) => (isStale ? null : token);
  return askServer;
}

/** The embedding page alone is asked, and only its answer counts. */
function askParent(origin: string, isStale: boolean): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const answered = ({ source, origin: from, data }: MessageEvent): void => {
      if (source !== window.parent || from !== origin || data?.type !== 'turnkeeper.token') return;
      done();
      resolve(typeof data.token === 'string' ? data.token : null);
    };
    const timer = setTimeout(() => {
      done();
      reject(new Error('the page around this chat does not answer'));
    }, ANSWER_MS_MAX);
    const done = (): void => {
      clearTimeout(timer);
      window.removeEventListener('message', answered);
    };
    window.addEventListener('message', answered);
    window.parent.postMessage({ type: 'turnkeeper.token-needed', isStale }, origin);
  });
}

async function askServer(): Promise<string | null> {
  const answer = await fetch('/chat/token', { method: 'POST', signal: AbortSignal.timeout(ANSWER_MS_MAX) });
  if (answer.status === 403 || answer.status === 404) return null;
  if (!answer.ok) throw new Error(`no token: HTTP ${answer.status}`);
  return ((await answer.json()) as { token: string }).token;
}
