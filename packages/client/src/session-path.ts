/** The path of a conversation: `~` and base64url of its key, which needs no escaping and is never taken for an id. */
export function sessionPath(sessionKey: string, rest = ''): string {
  const bytes = new TextEncoder().encode(sessionKey);
  const base64 = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  return `/v1/sessions/~${base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}${rest}`;
}
