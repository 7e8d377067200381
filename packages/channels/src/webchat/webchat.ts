import { fieldsError, type HttpErrorCode } from '@turnkeeper/core';
import { z } from 'zod';
import type { AccountDraft, Channel } from '../channel.ts';

const KEY_LENGTH_MIN = 32;
const SECRET_NAMES = ['key'] as const;

const OriginSchema = z
  .string()
  .max(255)
  .refine((text) => text === '*' || (URL.canParse(text) && new URL(text).origin === text), {
    error: 'an origin is scheme://host[:port] as browsers send it, or * for every page',
  });

const OptionsSchema = z.strictObject({
  /** Pages that may use the chat, besides those of this server's own host. */
  origins: z.array(OriginSchema).max(100).default([]),
});

/**
 * Web chat: visitors of a page talk to an agent over a socket of this server. There is nothing to send to: a committed
 * reply is in the room's stream already, where its visitor reads it, now or when it comes back, and says that it did.
 */
export const webchat: Channel = {
  manifest: { id: 'webchat', apiVersion: 1, secretNames: SECRET_NAMES },
  checkAccount,
  open: () => ({ ingress: null, egress: { send: () => Promise.resolve({ result: 'offered' }) } }),
};

function checkAccount({ options, secrets }: AccountDraft): Readonly<Record<string, unknown>> {
  const parsed = OptionsSchema.safeParse(options ?? {});
  const faults = [...(parsed.error?.issues ?? []).flatMap(faultsOf), ...Object.entries(secrets).flatMap(secretFaults)];
  if (parsed.success && faults.length === 0) return parsed.data;
  throw fieldsError('config_invalid', faults);
}

interface Fault {
  readonly pointer: string;
  readonly code: HttpErrorCode;
  readonly why: string;
}

function faultsOf(issue: z.core.$ZodIssue): Fault[] {
  const pointer = `/options${issue.path.map((part) => `/${String(part)}`).join('')}`;
  if (issue.code !== 'unrecognized_keys') return [{ pointer, code: 'invalid_field', why: issue.message }];
  return issue.keys.map((name) => ({
    ...{ pointer: `${pointer}/${name}`, code: 'unknown_field', why: 'no such option of a web chat' },
  }));
}

/** `key`: what the page's server signs tokens of its own with (HS256); short ones can be guessed. */
function secretFaults([name, value]: [string, string]): Fault[] {
  const pointer = `/secrets/${name}`;
  if (name !== 'key') return [{ pointer, code: 'unknown_field', why: 'the only secret of a web chat is key' }];
  if (value.length >= KEY_LENGTH_MIN) return [];
  return [{ pointer, code: 'invalid_field', why: `a key to sign with has at least ${KEY_LENGTH_MIN} characters` }];
}
