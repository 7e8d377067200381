/** What the address of the page says behind `#`: it never reaches a server or its logs. */
export interface Settings {
  readonly token: string | null;
  /** Origin of the page that embeds this one, and gives it tokens. */
  readonly embeddedBy: string | null;
  readonly room: string | null;
  readonly title: string;
  readonly theme: 'light' | 'dark' | null;
}

export function settingsOf(hash: string): Settings {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  const theme = given.get('theme');
  return {
    token: given.get('token'),
    embeddedBy: given.get('embed'),
    room: given.get('room'),
    title: given.get('title') ?? 'Chat',
    theme: theme === 'light' || theme === 'dark' ? theme : null,
  };
}

/** The same address without its secret. */
export function withoutToken(hash: string): string {
  const given = new URLSearchParams(hash.replace(/^#/, ''));
  given.delete('token');
  const rest = given.toString();
  return rest === '' ? '' : `#${rest}`;
}
