import { escapeComponent, unescapeComponent } from './escape.ts';

export interface EchoPolicy {
  /** `per_user`: in rooms each person has a lane of their own. */
  readonly scope: 'per_user' | 'shared';
}

export interface EchoInput extends EchoPolicy {
  readonly channel: string;
  readonly chatId: string;
  readonly senderId: string;
  readonly isGroup: boolean;
  /** A key used as it stands. `alreadyScoped`: it names its sender, so the sender is not added again. */
  readonly override: { readonly key: string; readonly alreadyScoped: boolean } | null;
}

const EPOCH_MARK = '::epoch:';
const INTEGER = /^\s*[+-]?\d+\s*$/;

/**
 * The lane key of policy `echo`: `<channel>:<chatId>[:<sender>]`. Whether an override is scoped is a flag and never
 * read off its text: a key that happens to end in somebody's id would merge two people.
 */
export function echoKey(input: EchoInput): { baseKey: string; key: string; scoped: boolean } {
  const { override, senderId } = input;
  const baseKey = override?.key || `${escapeComponent(input.channel)}:${escapeComponent(input.chatId)}`;
  if (override?.alreadyScoped) return { baseKey, key: baseKey, scoped: true };
  const scoped = input.scope === 'per_user' && input.isGroup && senderId !== '';
  return { baseKey, key: scoped ? `${baseKey}:${escapeComponent(senderId)}` : baseKey, scoped };
}

/** Where a reply to an echo key goes; two empty texts when the key names no chat. */
export function echoTarget(key: string): { channel: string; chatId: string } {
  const [first = '', second, third = ''] = key.split(':').map(unescapeComponent);
  if (second === undefined) return { channel: '', chatId: '' };
  return first === 'gateway' ? { channel: `gateway:${second}`, chatId: third } : { channel: first, chatId: second };
}

/** The key of one generation of a conversation: a reset raises the count. What is no positive whole number counts as none. */
export function contextKey(key: string, resetCount: string | number | null): string {
  const count = Math.trunc(typeof resetCount === 'string' && !INTEGER.test(resetCount) ? 0 : Number(resetCount));
  return count > 0 && Number.isSafeInteger(count) ? `${key}${EPOCH_MARK}${count}` : key;
}

export function contextBelongs(key: string, context: string): boolean {
  return context === key || context.startsWith(key + EPOCH_MARK);
}

/** Clients may not write the mark themselves. */
export function hasEpochMark(key: string): boolean {
  return key.includes(EPOCH_MARK);
}
