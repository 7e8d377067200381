import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ChatSession } from './chat/chat-session.ts';
import { Files } from './chat/files.ts';
import { PickedFiles } from './chat/picked-files.ts';
import { type Settings, settingsOf, withoutToken } from './chat/settings.ts';
import { tokenSource } from './chat/tokens.ts';
import { ChatPage } from './view/chat-page.tsx';

const TOKEN = 'turnkeeper.token';
/** Fewer than the server takes in one message. */
const FILES_MAX = 10;

const keep = storage();
const settings = withKeptToken(settingsOf(location.hash), keep);
history.replaceState(null, '', `${location.pathname}${withoutToken(location.hash)}`);
if (settings.theme !== null) document.documentElement.dataset['theme'] = settings.theme;
document.title = settings.title;

const token = tokenSource(settings);
const session = new ChatSession({
  open: () => new WebSocket(`${location.origin.replace(/^http/, 'ws')}/v1/ws`, 'turnkeeper.v1'),
  token,
  keep,
  room: settings.room ?? undefined,
});
session.start();
window.addEventListener('online', () => session.wake());
document.addEventListener('visibilitychange', () => session.wake());

const files = new Files(token);
const picked = new PickedFiles({ files, fileBytesMax: fileBytesMax(), filesMax: FILES_MAX });

const root = document.getElementById('chat');
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <ChatPage session={session} files={files} picked={picked} title={settings.title} />
    </StrictMode>,
  );
}

/** What the server that gave us the page takes of one file. */
function fileBytesMax(): number {
  const given = document.querySelector<HTMLMetaElement>('meta[name="turnkeeper-file-bytes-max"]')?.content;
  return Number(given) || Number.POSITIVE_INFINITY;
}

/** A frame of another site may be given none. */
function storage(): Storage | null {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}

/** The token is taken out of the address, and kept for a reload of this tab. */
function withKeptToken(given: Settings, kept: Storage | null): Settings {
  if (given.embeddedBy !== null) return given;
  if (given.token !== null) kept?.setItem(TOKEN, given.token);
  return { ...given, token: given.token ?? kept?.getItem(TOKEN) ?? null };
}
