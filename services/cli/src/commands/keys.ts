import { systemClock } from '@turnkeeper/platform/clock';
import { type Key, KeySchema } from '@turnkeeper/protocol';
import type { Command } from 'commander';
import { ago, shorten } from '../show.ts';
import { registerNoun } from './nouns.ts';

/** `turnkeeper keys` */
export function registerKeys(program: Command): void {
  const nowMs = systemClock.nowMs();
  registerNoun(program, {
    noun: 'keys',
    description: 'the API keys of a tenant; never their tokens',
    door: 'either',
    path: '/keys',
    row: KeySchema.loose(),
    columns: [
      { title: 'key', of: (key) => shorten(key.name, 20) },
      { title: 'id', of: (key) => shorten(key.keyId, 20) },
      { title: 'may', of: (key) => key.preset ?? `${key.scopes.length} scopes` },
      { title: 'state', of: (key) => stateOf(key, nowMs) },
      { title: 'used', of: (key) => ago(key.lastUsedAt, nowMs), right: true },
    ],
    getBy: 'key',
  });
}

function stateOf({ revokedAt, expiresAt }: Key, nowMs: number): string {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && Date.parse(expiresAt) <= nowMs ? 'expired' : 'valid';
}
