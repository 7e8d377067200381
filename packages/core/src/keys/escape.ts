/**
 * Writes one component of a key: `%` becomes `%25`, then `:` becomes `%3A`, nothing else. Separators between
 * components stay plain, so two different sources never share a key through a colon inside an id.
 */
export function escapeComponent(text: string): string {
  return text.replaceAll('%', '%25').replaceAll(':', '%3A');
}

/** Reads what `escapeComponent` wrote. Other percent signs stay as they are. */
export function unescapeComponent(text: string): string {
  return text.replace(/%(25|3A)/g, (written) => (written === '%25' ? '%' : ':'));
}

/** Lower case for keys of the openclaw policy; the hex of escapes stays upper case. */
export function lowerKey(key: string): string {
  return key.trim().toLowerCase().replaceAll('%3a', '%3A');
}

/** A component of the openclaw policy: trimmed, lower-cased, then escaped; `whenBlank` instead of nothing. */
export function lowerComponent(text: string | null, whenBlank = ''): string {
  return escapeComponent((text ?? '').trim().toLowerCase()) || whenBlank;
}

/** The text, or null when it says nothing: absent ids come as null, undefined or the empty text. */
export function present(text: string | null | undefined): string | null {
  return text === undefined || text === '' ? null : text;
}
