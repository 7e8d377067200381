import type { LinkFault, LinkState } from '../chat/room-socket.ts';

const WORDS = {
  connecting: 'Connecting…',
  online: 'Connected',
  reconnecting: 'Reconnecting…',
  ended: 'Closed',
} as const;

/** Whether the chat is connected. */
export function LinkBar({ link }: { readonly link: LinkState }) {
  return (
    <p className="link" data-link={link} role="status">
      <span className="dot" aria-hidden="true" />
      {WORDS[link]}
    </p>
  );
}

const FAULTS: Readonly<Record<LinkFault, readonly [title: string, text: string]>> = {
  no_token: [
    'You are not signed in here',
    'Open this chat from the site that offers it, or by the link that you were sent.',
  ],
  signed_out: ['You have been signed out', 'Your access has ended. Open the chat again from where you came from.'],
  not_allowed: [
    'You may not use this chat',
    'It is not open to this page or this room. Ask whoever gave you the link.',
  ],
};

/** Instead of the chat, when it cannot be. */
export function LinkEnded({ fault }: { readonly fault: LinkFault | null }) {
  const [title, text] = FAULTS[fault ?? 'no_token'];
  return (
    <main className="ended">
      <h2>{title}</h2>
      <p>{text}</p>
      <button type="button" className="button" onClick={() => location.reload()}>
        Try again
      </button>
    </main>
  );
}
