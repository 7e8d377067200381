/** What operators and tenants configure: bodies of PUT and POST, the same objects as in `turnkeeper apply` (surface §6). */
import { z } from 'zod';
import { InstantSchema, listOf, NameSchema, nameText, ReferenceSchema } from './fields.ts';

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

export const PRESETS = ['owner', 'developer', 'sender', 'viewer'] as const;
export type Preset = (typeof PRESETS)[number];

/** Scopes of a preset (surface §2). */
export function scopesOf(preset: Preset): readonly Scope[] {
  switch (preset) {
    case 'owner':
      return SCOPES;
    case 'developer':
      return SCOPES.filter((scope) => scope !== 'keys:write' && scope !== 'audit:read');
    case 'sender':
      return ['messages:write', 'runs:read'];
    case 'viewer':
      return SCOPES.filter((scope) => scope.endsWith(':read'));
  }
}

const countUpTo = (max: number) => z.int().positive().max(max);

/** Left out or null = no limit, but turnSlots 100, queuedPerLane 100, queuedPerTenant 10000. */
export const LimitsSchema = z.strictObject({
  ratePerSecond: countUpTo(1_000_000).nullish(),
  burst: countUpTo(1_000_000).nullish(),
  turnSlots: countUpTo(1_000_000).optional(),
  queuedPerLane: countUpTo(1_000_000).optional(),
  queuedPerTenant: countUpTo(100_000_000).optional(),
});

export const KeyPolicySchema = z.union([
  z.enum(['standard', 'openclaw', 'echo']),
  z.strictObject({
    name: z.enum(['standard', 'openclaw', 'echo']),
    groupSessionsPerUser: z.boolean().optional(),
    threadSessionsPerUser: z.boolean().optional(),
    dmScope: z.enum(['main', 'per-peer', 'per-channel-peer', 'per-account-channel-peer']).optional(),
    mainKey: nameText(64).min(1).optional(),
    identityLinks: z.record(nameText(128), z.array(nameText(256)).max(100)).optional(),
    scope: z.enum(['per_user', 'shared']).optional(),
  }),
]);
export type KeyPolicyInput = z.infer<typeof KeyPolicySchema>;

const SecretText = z.string().min(1).max(8192);
const HttpUrl = z.url({ protocol: /^https?$/ }).max(2048);
const MS_MAX = 3_600_000;

/** Exactly the block that `runtime` names may stand beside it. */
export const AgentBodySchema = z
  .strictObject({
    name: NameSchema.optional(),
    runtime: z.enum(['echo', 'openai']),
    echo: z
      .strictObject({
        delayMs: z.int().min(0).max(MS_MAX).optional(),
        fail: z.int().min(0).max(1000).optional(),
        wordMs: z.int().min(0).max(MS_MAX).optional(),
      })
      .optional(),
    openai: z.strictObject({ baseUrl: HttpUrl, model: nameText(128).min(1), apiKey: SecretText.optional() }).optional(),
    system: z.string().max(65_536).optional(),
    keyPolicy: KeyPolicySchema.optional(),
    busy: z.strictObject({ mode: z.enum(['queue']).optional() }).optional(),
  })
  .check((context) => {
    const { runtime, echo, openai } = context.value;
    const refuse = (field: string, code: string) =>
      context.issues.push({ code: 'custom', input: undefined, path: [field], params: { code } });
    if (runtime === 'openai' && openai === undefined) refuse('openai', 'missing_field');
    if (runtime === 'openai' && echo !== undefined) refuse('echo', 'invalid_field');
    if (runtime === 'echo' && openai !== undefined) refuse('openai', 'invalid_field');
  });
export type AgentBody = z.infer<typeof AgentBodySchema>;

/** `options` and `secrets` are judged by the account's channel. */
export const AccountBodySchema = z.strictObject({
  name: NameSchema.optional(),
  agent: ReferenceSchema.optional(),
  channel: nameText(32).min(1),
  options: z.record(z.string(), z.unknown()).optional(),
  secrets: z.record(nameText(64), SecretText).optional(),
});
export type AccountBody = z.infer<typeof AccountBodySchema>;

export const TenantBodySchema = z.strictObject({
  name: NameSchema.optional(),
  status: z.enum(['active', 'suspended']).optional(),
  limits: LimitsSchema.optional(),
  timeZone: z.string().min(1).max(64).optional(),
});
export type TenantBody = z.infer<typeof TenantBodySchema>;

/** `secret` = the whole token `tk_<keyId>_<secret>`; left out, the server makes one and shows it once. */
export const KeyBodySchema = z.strictObject({
  name: NameSchema.optional(),
  secret: z
    .string()
    .regex(/^tk_[a-z0-9]{8,32}_[A-Za-z0-9]{32,128}$/)
    .optional(),
  preset: z.enum(PRESETS).optional(),
  scopes: z.array(z.enum(SCOPES)).min(1).optional(),
  expiresAt: InstantSchema.optional(),
});
export type KeyBody = z.infer<typeof KeyBodySchema>;

const stamps = { createdAt: InstantSchema, updatedAt: InstantSchema };

export const TenantSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: z.enum(['active', 'suspended', 'deleting']),
  limits: z.strictObject({
    ratePerSecond: z.int().nullable(),
    burst: z.int().nullable(),
    turnSlots: z.int(),
    queuedPerLane: z.int(),
    queuedPerTenant: z.int(),
  }),
  timeZone: z.string(),
  ...stamps,
});
export type Tenant = z.infer<typeof TenantSchema>;

/** Secrets are write-only: answers name them, nothing more. */
export const AgentSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  version: z.int(),
  runtime: z.enum(['echo', 'openai']),
  echo: z.strictObject({ delayMs: z.int(), fail: z.int(), wordMs: z.int() }).optional(),
  openai: z.strictObject({ baseUrl: z.string(), model: z.string() }).optional(),
  system: z.string().optional(),
  keyPolicy: KeyPolicySchema,
  busy: z.strictObject({ mode: z.enum(['queue']) }),
  secretNames: z.array(z.string()),
  ...stamps,
});
export type Agent = z.infer<typeof AgentSchema>;

export const AccountSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  version: z.int(),
  agent: z.string(),
  agentId: z.string(),
  channel: z.string(),
  options: z.record(z.string(), z.unknown()),
  secretNames: z.array(z.string()),
  ...stamps,
});
export type Account = z.infer<typeof AccountSchema>;

/** `secret` only in the answer that made it. */
export const KeySchema = z.strictObject({
  id: z.string(),
  keyId: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  preset: z.string().optional(),
  secret: z.string().optional(),
  createdAt: InstantSchema,
  expiresAt: InstantSchema.optional(),
  revokedAt: InstantSchema.optional(),
  lastUsedAt: InstantSchema.optional(),
});
export type Key = z.infer<typeof KeySchema>;

export const TenantListSchema = listOf(TenantSchema);
export const AgentListSchema = listOf(AgentSchema);
export const AccountListSchema = listOf(AccountSchema);
export const KeyListSchema = listOf(KeySchema);
