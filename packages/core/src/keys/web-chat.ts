import { hasEpochMark } from './echo.ts';
import { escapeComponent } from './escape.ts';

const FALLBACK_PLATFORM = 'ws';
const CLIENT_PREFIX = 'cli:';

export type WebChatKey =
  | { readonly key: string; readonly error: null }
  | { readonly key: null; readonly error: 'key_required' | 'not_a_string' | 'prefix_not_allowed' | 'reserved_marker' };

/** The platform a web client says it is: folded to `ws` when blank or not one of a non-empty list. */
export function webChatPlatform(reported: string, known: readonly string[]): string {
  const platform = reported.trim();
  if (platform === '') return FALLBACK_PLATFORM;
  return known.length === 0 || known.includes(platform) ? platform : FALLBACK_PLATFORM;
}

/** The key of a web client: its own `cli:` key, or the one made from its platform and chat where that is allowed. */
export function webChatKey(input: {
  readonly requested: unknown;
  readonly platform: string;
  readonly chatId: string;
  readonly allowFallback: boolean;
}): WebChatKey {
  const requested = input.requested ?? '';
  if (typeof requested !== 'string') return { key: null, error: 'not_a_string' };
  const key = requested.trim();
  if (key === '') {
    if (!input.allowFallback) return { key: null, error: 'key_required' };
    return { key: `gateway:${escapeComponent(input.platform)}:${escapeComponent(input.chatId)}`, error: null };
  }
  if (!key.startsWith(CLIENT_PREFIX)) return { key: null, error: 'prefix_not_allowed' };
  return hasEpochMark(key) ? { key: null, error: 'reserved_marker' } : { key, error: null };
}
