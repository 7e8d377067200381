const MARKERS: ReadonlySet<string> = new Set(['SILENT', 'NOREPLY', 'NO_REPLY', '静默', '沉默']);
const LENGTH_MAX = 64;
const EDGES = /^[\s"'`*_.,!…~-]+|[\s"'`*_.,!…~-]+$/gu;

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

function isMarker(text: string): boolean {
  if (text.length > LENGTH_MAX) return false;
  const bare = text.replace(EDGES, '');
  const inner = /^\[(.*)\]$/u.exec(bare)?.[1] ?? bare;
  return MARKERS.has(inner.replace(/\s+/gu, '').toUpperCase());
}
