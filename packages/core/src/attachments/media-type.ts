import type { AttachmentKind } from '../ports/attachments.ts';

export interface MediaTypeClues {
  /** What its first bytes say; null: nothing known. */
  readonly sniffed: string | null;
  /** What the sender says; null: nothing. */
  readonly declared: string | null;
  /** The first bytes. */
  readonly head: Uint8Array;
}

export interface MediaType {
  readonly mime: string;
  readonly kind: AttachmentKind;
}

const UNKNOWN = 'application/octet-stream';
const MIME = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,62}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,62}$/;
/** What many formats are packed in: the sender knows which. */
const PACKING = new Set(['application/zip', 'application/xml', 'application/x-cfb', 'application/gzip']);

/**
 * What a file is. The bytes decide; the sender is believed where they say nothing, or only how it is packed, and never
 * when it claims a picture, a sound or a film that the bytes are not. SVG is a document that may hold programs: a file.
 */
export function mediaTypeOf({ sniffed, declared, head }: MediaTypeClues): MediaType {
  const claimed = typeName(declared);
  const seen = typeName(sniffed);
  if (seen !== null) {
    const isPacked = PACKING.has(seen) && claimed !== null && !isPlayed(claimed) && !claimed.startsWith('text/');
    return typed(isPacked ? claimed : seen);
  }
  if (claimed !== null && claimed !== UNKNOWN) return typed(isPlayed(claimed) ? UNKNOWN : claimed);
  return typed(isText(head) ? 'text/plain' : UNKNOWN);
}

/** Without parameters, in lower case; null when it is none. */
function typeName(text: string | null): string | null {
  const [name = ''] = (text ?? '').toLowerCase().split(';');
  return MIME.test(name.trim()) ? name.trim() : null;
}

function isPlayed(mime: string): boolean {
  return kindOf(mime) !== 'file';
}

function typed(mime: string): MediaType {
  return { mime, kind: kindOf(mime) };
}

function kindOf(mime: string): AttachmentKind {
  if (mime === 'image/svg+xml') return 'file';
  const [family] = mime.split('/');
  return family === 'image' || family === 'audio' || family === 'video' ? family : 'file';
}

/** The head may end inside a character. */
function isText(head: Uint8Array): boolean {
  if (head.length === 0 || head.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    // not UTF-8: that is the answer
    return false;
  }
}
