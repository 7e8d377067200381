/** What an API key may do (surface §2). */
export const SCOPES = [
  'messages:write',
  'runs:read',
  'sessions:read',
  'sessions:write',
  'search:read',
  'deliveries:write',
  'agents:write',
  'accounts:write',
  'keys:write',
  'webhooks:write',
  'usage:read',
  'audit:read',
] as const;
export type Scope = (typeof SCOPES)[number];

export const KEY_PRESETS = ['owner', 'developer', 'sender', 'viewer'] as const;
export type KeyPreset = (typeof KEY_PRESETS)[number];

/** The scopes behind a preset's name, in the order of `SCOPES`. */
export function scopesOf(preset: KeyPreset): readonly Scope[] {
  return SCOPES.filter((scope) => PRESET_HAS[preset](scope));
}

const PRESET_HAS: Readonly<Record<KeyPreset, (scope: Scope) => boolean>> = {
  owner: () => true,
  developer: (scope) => scope !== 'keys:write' && scope !== 'audit:read',
  sender: (scope) => scope === 'messages:write' || scope === 'runs:read',
  viewer: (scope) => scope.endsWith(':read'),
};
