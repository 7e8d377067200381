import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Environment } from '@turnkeeper/platform/config';
import { z } from 'zod';
import type { Fault, Path } from './config-file.ts';

export interface SecretSources {
  readonly environment: Environment;
  /** Files are named from here. */
  readonly folder: string;
  /** Secrets may stand in the file itself. */
  readonly allowInline: boolean;
}

const ValueFromSchema = z.strictObject({
  valueFrom: z.union([z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })]),
});

/**
 * The document with every `{valueFrom: {env | file}}` replaced by what it names, and what is wrong with its secrets.
 * A secret that stands there in plain is a fault unless that is allowed. Whatever has another shape is left as it is, for
 * the schema to judge.
 */
export async function resolveSecrets(
  value: unknown,
  sources: SecretSources,
): Promise<{ readonly value: unknown; readonly faults: readonly Fault[] }> {
  const faults: Fault[] = [];
  return { value: await resolveBelow(value, [], { ...sources, faults }), faults };
}

type Work = SecretSources & { readonly faults: Fault[] };

async function resolveBelow(value: unknown, path: Path, work: Work): Promise<unknown> {
  if (isSecret(path)) return resolveSecret(value, path, work);
  if (Array.isArray(value)) return Promise.all(value.map((item, i) => resolveBelow(item, [...path, i], work)));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(
    async ([name, item]: [string, unknown]) => [name, await resolveBelow(item, [...path, name], work)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

/** `keys[].secret`, `agents[].openai.apiKey`, `accounts[].secrets.<name>`, each below `tenants[]`. */
function isSecret([tenants, , kind, , field, name, ...deeper]: Path): boolean {
  if (tenants !== 'tenants' || deeper.length > 0) return false;
  if (kind === 'keys') return field === 'secret' && name === undefined;
  if (kind === 'agents') return field === 'openai' && name === 'apiKey';
  return kind === 'accounts' && field === 'secrets' && name !== undefined;
}

async function resolveSecret(value: unknown, path: Path, work: Work): Promise<unknown> {
  const named = ValueFromSchema.safeParse(value);
  if (named.success) return lookUp(named.data.valueFrom, path, work);
  const isPlain = typeof value === 'string';
  if (!isPlain || !work.allowInline) work.faults.push({ path, message: isPlain ? INLINE : SHAPE });
  return value;
}

const SHAPE = 'a secret is { valueFrom: { env: NAME } } or { valueFrom: { file: PATH } }';
const INLINE = `${SHAPE}; --allow-inline-secrets lets it stand here`;

async function lookUp(from: { env: string } | { file: string }, path: Path, work: Work): Promise<string | null> {
  const found = 'env' in from ? work.environment[from.env] : await readText(resolve(work.folder, from.file));
  if (found !== undefined && found !== '') return found;
  const what =
    'env' in from ? `the variable ${from.env} is not set` : `the file ${from.file} cannot be read, or is empty`;
  work.faults.push({ path, message: what });
  return null;
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).replace(/\r?\n$/, '');
  } catch (error) {
    // whatever keeps the file from being read, the fault at its line says so
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}
