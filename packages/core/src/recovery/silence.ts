const MARKERS: ReadonlySet<string> = new Set(['SILENT', 'NOREPLY', 'NO_REPLY', '静默', '沉默']);
const LENGTH_MAX = 64;
/** Punctuation but square brackets, and white space. */
const EDGES = /^[[\s\p{P}`~]--[\[\]]]+|[[\s\p{P}`~]--[\[\]]]+$/gv;

/** What a person is told whose message the agent had nothing to say to. */
export const SILENCE_NOTICE = { code: 'no_reply', text: 'The agent had nothing to say to your message.' } as const;

/**
 * True when a reply says that there is nothing to say: as a whole `[SILENT]`, `NO_REPLY`, … in any case, punctuation at the
 * edges forgiven, square brackets only in pairs. Where nobody waits for an answer (`autonomous`) the marker may also stand
 * in brackets before a reply, or as its first or last line (source: hermes.md §10).
 */
export function isSilent(text: string, { autonomous }: { readonly autonomous: boolean }): boolean {
  if (isMarker(text)) return true;
  if (!autonomous) return false;
  const lines = text.trim().split('\n');
  const leading = /^\[[^\]]*\]/u.exec(text.trimStart())?.[0];
  return [lines[0], lines.at(-1), leading].some((part) => part !== undefined && isMarker(part));
}

/** Could it still become a marker when more of it comes? Then it is not shown before that is known. */
function mayBecomeSilent(begun: string): boolean {
  if (begun.length > LENGTH_MAX) return false;
  const bare = begun.replace(EDGES, '').replace(/\s+/gu, '').toUpperCase();
  return [...MARKERS].some((marker) => [marker, `[${marker}]`].some((form) => form.startsWith(bare)));
}

/** Shows text as it comes, but for what may become a silence marker: that waits until the rest says what it is. */
export class UnlessSilent {
  readonly #show: (text: string) => void;
  #held: string | null = '';

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  add(text: string): void {
    if (this.#held === null) {
      this.#show(text);
      return;
    }
    this.#held += text;
    if (!mayBecomeSilent(this.#held)) this.#release();
  }

  /** It was no silence, or what would have been one was cut off: whatever waits is shown. */
  #release(): void {
    const held = this.#held ?? '';
    this.#held = null;
    if (held !== '') this.#show(held);
  }

  /** All of it is known. */
  end(whole: { readonly isSilent: boolean }): void {
    if (!whole.isSilent) this.#release();
  }
}

function isMarker(text: string): boolean {
  if (text.length > LENGTH_MAX) return false;
  const bare = text.replace(EDGES, '');
  const inner = /^\[(.*)\]$/u.exec(bare)?.[1] ?? bare;
  return MARKERS.has(inner.replace(/\s+/gu, '').toUpperCase());
}
