const MARKERS: ReadonlySet<string> = new Set(['SILENT', 'NOREPLY', 'NO_REPLY', '静默', '沉默']);
const LENGTH_MAX = 64;
const EDGES = /^[\s"'`*_.,!…~-]+|[\s"'`*_.,!…~-]+$/gu;

/**
 * True when a whole reply says that there is nothing to say: `[SILENT]`, `NO_REPLY`, … in any case, punctuation at the
 * edges forgiven, square brackets only in pairs (source: hermes.md §10).
 */
export function isSilenceMarker(text: string): boolean {
  if (text.length > LENGTH_MAX) return false;
  const bare = text.replace(EDGES, '');
  const inner = /^\[(.*)\]$/u.exec(bare)?.[1] ?? bare;
  return MARKERS.has(inner.replace(/\s+/gu, '').toUpperCase());
}
