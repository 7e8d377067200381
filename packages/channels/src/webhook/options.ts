import { fieldsError, type HttpErrorCode, hasUserInfo } from '@turnkeeper/core';
import { z } from 'zod';
import type { AccountDraft } from '../channel.ts';
import { keyOfSecret } from './standard-webhooks.ts';

export const SECRET_NAMES = ['secret', 'replySecret'] as const;
const REQUIRED_SECRET = 'secret';

const HeaderName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, { error: 'must be the name of a header' })
  .transform((name) => name.toLowerCase());

const common = {
  /** Text of the message; `{{a.b}}` is a value of the JSON body. */
  template: z.string().min(1).max(16_384).default('{{text}}'),
  /** Replies are POSTed here; without it they stay in the history. */
  replyUrl: z
    .url({ protocol: /^https?$/, error: 'must be an address that begins with http:// or https://' })
    .max(2048)
    .refine((text) => !hasUserInfo(text), {
      error: 'no user or password in a URL, it would be shown in clear: replies are signed with replySecret',
    })
    .optional(),
  /**
   * Of a reply whose outcome nobody knows: send it once more, with `recovered: true`, or hold it, and what stands behind it,
   * until a person says what became of it.
   */
  onUnknown: z.enum(['resend', 'hold']).optional(),
  /** Off: a reply is sent once at most, and is not kept for another try. */
  ledger: z
    .union([z.boolean(), z.enum(['on', 'off', 'true', 'false', 'yes', 'no', '1', '0'])], { error: 'must be on or off' })
    .optional(),
  /** What sends is a bot: it may talk to the agent without end, and so has a budget. */
  isBot: z.boolean().optional(),
};

/** `verify` says how a sender proves itself. */
const OptionsSchema = z.discriminatedUnion(
  'verify',
  [
    z.strictObject({
      verify: z.literal('standard-webhooks'),
      /** How far the sender's clock may be off. */
      toleranceSec: z.int().min(1).max(3600).default(300),
      ...common,
    }),
    z.strictObject({
      verify: z.literal('hmac-sha256-header'),
      /** Holds `prefix` and the hex of HMAC-SHA-256 over the raw body. */
      header: HeaderName,
      prefix: z.string().max(64).default(''),
      /** Holds the sender's id of the delivery. Without it, equal bodies within minutes count as one. */
      idHeader: HeaderName.optional(),
      ...common,
    }),
  ],
  { error: 'must be standard-webhooks or hmac-sha256-header' },
);
/** Options of an account, complete. */
export type WebhookOptions = z.infer<typeof OptionsSchema>;

interface Fault {
  readonly pointer: string;
  readonly code: HttpErrorCode;
  readonly why: string;
}

/** @throws AppError `config_invalid` */
export function checkAccount({ options, secrets, keptSecrets }: AccountDraft): WebhookOptions {
  const parsed = parseOptions(options);
  const optionFaults = (parsed.error?.issues ?? []).flatMap((issue) => faultsOf(issue, options));
  const faults = [...optionFaults, ...secretFaults(secrets, keptSecrets)];
  if (faults.length === 0 && parsed.success) return parsed.data;
  throw fieldsError('config_invalid', faults);
}

/** Options that name no way to verify are those of Standard Webhooks. */
export function parseOptions(options: unknown = {}) {
  const isUnnamed = typeof options === 'object' && options !== null && !('verify' in options);
  const named = isUnnamed && !Array.isArray(options) ? { verify: 'standard-webhooks', ...options } : options;
  return OptionsSchema.safeParse(named);
}

function faultsOf(issue: z.core.$ZodIssue, options: unknown): Fault[] {
  const pointer = `/options${issue.path.map((part) => `/${String(part)}`).join('')}`;
  if (issue.code === 'unrecognized_keys') {
    const why = 'no such option for this way to verify';
    return issue.keys.map((name) => ({ pointer: `${pointer}/${name}`, code: 'unknown_field', why }));
  }
  const [name] = issue.path;
  const isMissing = name !== undefined && typeof options === 'object' && options !== null && !(name in options);
  return [
    isMissing
      ? { pointer, code: 'missing_field', why: 'is missing' }
      : { pointer, code: 'invalid_field', why: issue.message },
  ];
}

function secretFaults(secrets: AccountDraft['secrets'], kept: readonly string[]): Fault[] {
  const faults = Object.entries(secrets).flatMap(([name, value]): Fault[] => {
    const pointer = `/secrets/${name}`;
    if (!SECRET_NAMES.some((known) => known === name)) {
      return [{ pointer, code: 'unknown_field', why: `the secrets are ${SECRET_NAMES.join(' and ')}` }];
    }
    const isKey = value !== '' && keyOfSecret(value) !== null;
    return isKey ? [] : [{ pointer, code: 'invalid_field', why: 'what follows whsec_ must be base64' }];
  });
  if (REQUIRED_SECRET in secrets || kept.includes(REQUIRED_SECRET)) return faults;
  const why = 'the key that senders sign with is needed';
  return [...faults, { pointer: `/secrets/${REQUIRED_SECRET}`, code: 'missing_field', why }];
}
