/** What operators and tenants configure: bodies of PUT and POST, the same objects as in `turnkeeper apply` (surface §6). */
import { AGENT_TOOLS, isHeaderText, KEY_PRESETS, SCOPES } from '@turnkeeper/core';
import { z } from 'zod';
import { BaseUrlSchema, InstantSchema, listOf, NameSchema, nameText, ReferenceSchema } from './fields.ts';
import { LoopsSchema, ResetSchema, ResetsSchema, ResumeSchema, TurnLimitsSchema } from './turn-settings.ts';

const countUpTo = (max: number) => z.int().positive().max(max);

/** Left out or null = no limit, but turnSlots 100, queuedPerLane 100, queuedPerTenant 10000. */
const LimitsSchema = z
  .strictObject({
    ratePerSecond: countUpTo(1_000_000).nullish(),
    burst: countUpTo(1_000_000).nullish(),
    turnSlots: countUpTo(1_000_000).optional(),
    queuedPerLane: countUpTo(1_000_000).optional(),
    queuedPerTenant: countUpTo(100_000_000).optional(),
    /** Above the days for which repetitions are usually known (where they are known longer, it is kept longer): a repetition is answered with its first run. */
    retentionDays: z.int().min(9).max(36_500).nullish(),
    /** Zero: for ever. */
    laneDays: z.int().min(0).max(36_500).nullish(),
    lanes: countUpTo(1_000_000).nullish(),
  })
  .refine((limits) => limits.burst == null || limits.ratePerSecond != null, {
    path: ['burst'],
    params: { code: 'config_invalid' },
    error: 'burst means nothing without ratePerSecond',
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

const BusyModeSchema = z.enum(['queue'], { error: 'the only busy mode so far is queue' });
const SecretText = z.string().min(1).max(8192);
/** Sent as `Authorization: Bearer`. */
const ApiKeyText = SecretText.refine(isHeaderText, {
  params: { code: 'config_invalid' },
  error: 'an API key is sent as a header: visible ASCII characters only, no line break at its end',
});
const MS_MAX = 3_600_000;
const PARTS_MAX = 1000;

/** What a model may call. */
const AgentToolsSchema = z.array(z.enum(AGENT_TOOLS)).max(16).readonly();

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
    openai: z
      .strictObject({
        baseUrl: BaseUrlSchema,
        model: nameText(128).min(1),
        apiKey: ApiKeyText.optional(),
        tools: AgentToolsSchema.optional(),
        images: z.boolean().optional(),
      })
      .optional(),
    system: z.string().max(65_536).optional(),
    keyPolicy: KeyPolicySchema.optional(),
    busy: z.strictObject({ mode: BusyModeSchema.optional() }).optional(),
    limits: TurnLimitsSchema.optional(),
    resume: ResumeSchema.optional(),
    loops: LoopsSchema.optional(),
    reset: ResetSchema.optional(),
    resetByType: ResetsSchema.optional(),
    resetByChannel: ResetsSchema.optional(),
  })
  .check((context) => {
    const { runtime, echo, openai } = context.value;
    const refuse = (field: string, code: string, message: string) =>
      context.issues.push({ code: 'custom', input: undefined, path: [field], params: { code }, message });
    const needed = 'runtime openai needs its block: openai: { baseUrl, model }';
    if (runtime === 'openai' && openai === undefined) refuse('openai', 'missing_field', needed);
    if (runtime === 'openai' && echo !== undefined) refuse('echo', 'invalid_field', 'the runtime is openai, not echo');
    if (runtime === 'echo' && openai !== undefined)
      refuse('openai', 'invalid_field', 'the runtime is echo, not openai');
  });
export type AgentBody = z.infer<typeof AgentBodySchema>;

const EchoPatchSchema = z.strictObject({
  delayMs: z.int().min(0).max(MS_MAX).optional(),
  fail: z.int().min(0).max(1000).optional(),
  wordMs: z.int().min(0).max(MS_MAX).optional(),
});
const OpenAiPatchSchema = z.strictObject({
  baseUrl: BaseUrlSchema.optional(),
  model: nameText(128).min(1).optional(),
  apiKey: ApiKeyText.optional(),
  tools: AgentToolsSchema.optional(),
  images: z.boolean().optional(),
});

/** A merge patch (RFC 7396): what is left out stays, null takes away. Another `runtime` drops the block of the old one. */
export const AgentPatchSchema = z.strictObject({
  runtime: z.enum(['echo', 'openai']).optional(),
  echo: EchoPatchSchema.nullish(),
  openai: OpenAiPatchSchema.nullish(),
  system: z.string().max(65_536).nullish(),
  keyPolicy: KeyPolicySchema.nullish(),
  busy: z.strictObject({ mode: BusyModeSchema.optional() }).nullish(),
  limits: TurnLimitsSchema.nullish(),
  resume: ResumeSchema.nullish(),
  loops: LoopsSchema.nullish(),
  reset: ResetSchema.nullish(),
  resetByType: ResetsSchema.nullish(),
  resetByChannel: ResetsSchema.nullish(),
});
export type AgentPatch = z.infer<typeof AgentPatchSchema>;

/** `options` and `secrets` are judged by the account's channel. */
export const AccountBodySchema = z.strictObject({
  name: NameSchema.optional(),
  agent: ReferenceSchema.optional(),
  channel: nameText(32).min(1),
  options: z.record(z.string(), z.unknown()).optional(),
  secrets: z.record(nameText(64), SecretText).optional(),
});
export type AccountBody = z.infer<typeof AccountBodySchema>;

/** A merge patch: options that are null go; secrets are replaced, never taken away. The channel stays what it is. */
export const AccountPatchSchema = z.strictObject({
  agent: ReferenceSchema.optional(),
  options: z.record(z.string(), z.unknown()).optional(),
  secrets: z.record(nameText(64), SecretText).optional(),
});

/** `secret` = the whole token `tk_<keyId>_<secret>`; left out, an existing key keeps its token and a new one gets one, shown once. */
export const KeyBodySchema = z
  .strictObject({
    name: NameSchema.optional(),
    secret: z
      .string()
      .regex(/^tk_[a-z0-9]{8,32}_[A-Za-z0-9]{32,128}$/, {
        error: 'a key is tk_<8–32 of a-z0-9>_<at least 32 of A-Za-z0-9>',
      })
      .optional(),
    preset: z.enum(KEY_PRESETS).optional(),
    scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).optional(),
    expiresAt: InstantSchema.optional(),
    /** True takes the key out of use within 5 s; false or left out puts it back. */
    revoked: z.boolean().optional(),
  })
  .refine((key) => (key.preset === undefined) !== (key.scopes === undefined), {
    path: ['preset'],
    params: { code: 'config_invalid' },
    error: 'give either preset or scopes',
  });
export type KeyBody = z.infer<typeof KeyBodySchema>;

/** A key that a tenant makes for itself: its token is made by the server and shown once. */
export const NewKeySchema = z
  .strictObject({
    name: NameSchema,
    preset: z.enum(KEY_PRESETS).optional(),
    scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).optional(),
    expiresAt: InstantSchema.optional(),
  })
  .refine((key) => (key.preset === undefined) !== (key.scopes === undefined), {
    path: ['preset'],
    params: { code: 'config_invalid' },
    error: 'give either preset or scopes',
  });

/** What is left out stays; `expiresAt: null` = never. */
export const KeyPatchSchema = z
  .strictObject({
    preset: z.enum(KEY_PRESETS).optional(),
    scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length).optional(),
    expiresAt: InstantSchema.nullish(),
  })
  .refine((key) => key.preset === undefined || key.scopes === undefined, {
    path: ['preset'],
    params: { code: 'config_invalid' },
    error: 'give either preset or scopes',
  });

/** `status` left out keeps what it is; everything else left out is the default. The lists add and change, they never remove. */
export const TenantBodySchema = z
  .strictObject({
    name: NameSchema.optional(),
    status: z.enum(['active', 'suspended']).optional(),
    limits: LimitsSchema.optional(),
    timeZone: z.string().max(64).refine(isTimeZone, { error: 'no such IANA time zone' }).optional(),
    keys: z
      .array(KeyBodySchema.safeExtend({ name: NameSchema }))
      .max(PARTS_MAX)
      .optional(),
    agents: z
      .array(AgentBodySchema.safeExtend({ name: NameSchema }))
      .max(PARTS_MAX)
      .optional(),
    accounts: z
      .array(AccountBodySchema.safeExtend({ name: NameSchema }))
      .max(PARTS_MAX)
      .optional(),
  })
  .check((context) => {
    const { keys, agents, accounts } = context.value;
    for (const [list, parts] of Object.entries({ keys, agents, accounts })) {
      for (const path of repeatedNames(parts ?? [])) context.issues.push(repetition([list, ...path]));
    }
  });
export type TenantBody = z.infer<typeof TenantBodySchema>;

/** What is left out stays; within `limits`, too. */
export const TenantPatchSchema = z.strictObject({
  status: z.enum(['active', 'suspended']).optional(),
  limits: LimitsSchema.optional(),
  timeZone: z.string().max(64).refine(isTimeZone, { error: 'no such IANA time zone' }).optional(),
});
export type TenantPatch = z.infer<typeof TenantPatchSchema>;

/** `dryRun`: say what would become of everything. `prune`: of the lists in the body, what is not named goes. */
export const PutTenantQuerySchema = z.strictObject({
  dryRun: z.enum(['true', 'false']).optional(),
  prune: z.enum(['true', 'false']).optional(),
});

/** What `turnkeeper apply -f` reads. */
export const ConfigDocumentSchema = z
  .strictObject({
    apiVersion: z.literal('turnkeeper/v1'),
    tenants: z.array(TenantBodySchema.safeExtend({ name: NameSchema })),
  })
  .check((context) => {
    for (const path of repeatedNames(context.value.tenants)) context.issues.push(repetition(['tenants', ...path]));
  });
export type ConfigDocument = z.infer<typeof ConfigDocumentSchema>;

/** What a PUT or POST did to one object. Values of secrets are never among the fields: `before` and `after` are left out. */
export const ConfigChangeSchema = z.strictObject({
  kind: z.enum(['tenant', 'key', 'agent', 'account']),
  name: z.string(),
  result: z.enum(['created', 'updated', 'unchanged', 'deleted']),
  version: z.int().optional(),
  /** The token of a key that was made here: shown this once. */
  secret: z.string().optional(),
  fields: z.array(
    z.strictObject({ pointer: z.string(), before: z.unknown().optional(), after: z.unknown().optional() }),
  ),
});
export type ConfigChange = z.infer<typeof ConfigChangeSchema>;

const stamps = { createdAt: InstantSchema, updatedAt: InstantSchema };

/** Null: no limit. */
export const TenantLimitsSchema = z.strictObject({
  ratePerSecond: z.int().nullable(),
  burst: z.int().nullable(),
  turnSlots: z.int(),
  queuedPerLane: z.int(),
  queuedPerTenant: z.int(),
  /** Absent: as long as the cluster keeps what was said. */
  retentionDays: z.int().optional(),
  /** Absent: the cluster's days. */
  laneDays: z.int().optional(),
  /** Absent: no limit. */
  lanes: z.int().optional(),
});

export const TenantSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: z.enum(['active', 'suspended', 'deleting']),
  limits: TenantLimitsSchema,
  timeZone: z.string(),
  version: z.int(),
  ...stamps,
});
export type Tenant = z.infer<typeof TenantSchema>;

/** The deletion of a tenant; it can be read when nothing else of the tenant is left. */
export const TenantReceiptSchema = z.strictObject({
  tenantId: z.string(),
  name: z.string(),
  status: z.enum(['deleting', 'deleted']),
  requestedBy: z.string(),
  requestedAt: InstantSchema,
  finishedAt: InstantSchema.optional(),
  rows: z.record(z.string(), z.int()),
});
export type TenantReceipt = z.infer<typeof TenantReceiptSchema>;

/** Secrets are write-only: answers name them, nothing more. */
export const AgentSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  version: z.int(),
  runtime: z.enum(['echo', 'openai']),
  echo: z.strictObject({ delayMs: z.int(), fail: z.int(), wordMs: z.int() }).optional(),
  openai: z
    .strictObject({
      baseUrl: z.string(),
      model: z.string(),
      tools: AgentToolsSchema.optional(),
      images: z.boolean().optional(),
    })
    .optional(),
  system: z.string().optional(),
  keyPolicy: KeyPolicySchema,
  busy: z.strictObject({ mode: z.enum(['queue']) }),
  limits: TurnLimitsSchema.optional(),
  resume: ResumeSchema.optional(),
  reset: ResetSchema.optional(),
  resetByType: ResetsSchema.optional(),
  resetByChannel: ResetsSchema.optional(),
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
  /** Its platform asked for a wait (429): nothing leaves through it until then. */
  pausedUntil: InstantSchema.optional(),
  ...stamps,
});
export type Account = z.infer<typeof AccountSchema>;

/** `secret` only in the answer that made it. */
export const KeySchema = z.strictObject({
  id: z.string(),
  keyId: z.string(),
  name: z.string(),
  version: z.int(),
  scopes: z.array(z.string()),
  preset: z.string().optional(),
  secret: z.string().optional(),
  createdAt: InstantSchema,
  expiresAt: InstantSchema.optional(),
  revokedAt: InstantSchema.optional(),
  lastUsedAt: InstantSchema.optional(),
});
export type Key = z.infer<typeof KeySchema>;

/** The places of names that stood before: the last of two would win without a word. */
function repeatedNames(parts: readonly { readonly name?: string | undefined }[]): [number, 'name'][] {
  const seen = new Set<string>();
  return parts.flatMap(({ name }, i): [number, 'name'][] => {
    if (name === undefined || !seen.has(name)) {
      if (name !== undefined) seen.add(name);
      return [];
    }
    return [[i, 'name']];
  });
}

function repetition(path: PropertyKey[]) {
  const [params, message] = [{ code: 'config_invalid' }, 'this name stands twice in the list'];
  // `continue`: what contains the list is judged all the same
  return { code: 'custom' as const, input: undefined, path, params, message, continue: true };
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

export const TenantListSchema = listOf(TenantSchema);
export const AgentListSchema = listOf(AgentSchema);
export const AccountListSchema = listOf(AccountSchema);
export const KeyListSchema = listOf(KeySchema);
