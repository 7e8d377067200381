import { AppError } from '@turnkeeper/core';
import {
  bodyFaults,
  type ConfigChange,
  ConfigChangeSchema,
  type ConfigDocument,
  ConfigDocumentSchema,
  inWords,
} from '@turnkeeper/protocol';
import { z } from 'zod';
import { callApi } from '../api.ts';
import { accountFaults } from './account-faults.ts';
import { type ConfigFile, type Fault, pathOf } from './config-file.ts';
import { resolveSecrets, type SecretSources } from './secrets.ts';

export interface AppliedTenant {
  readonly tenant: string;
  readonly changes: readonly ConfigChange[];
}

const AnswerSchema = z.looseObject({ changes: z.array(ConfigChangeSchema) });

/** The document of a file, judged before anything is sent. @throws CliError `failed`: one line per fault, with its line number */
export async function readDocument(file: ConfigFile, sources: SecretSources): Promise<ConfigDocument> {
  const { value, faults } = await resolveSecrets(file.value, sources);
  const parsed = ConfigDocumentSchema.safeParse(value, { error: inWords });
  const resolved = new Set(faults.map(({ path }) => path.join('/')));
  const judged = [...faultsOf(parsed.error, value), ...accountFaults(value)];
  const found = judged.filter(({ path }) => !resolved.has(path.join('/')));
  if (parsed.success && faults.length === 0 && found.length === 0) return parsed.data;
  throw file.refuse([...faults, ...found]);
}

/** What was done, in the order of the file, and what ended it before its end. */
export interface Applied {
  readonly tenants: readonly AppliedTenant[];
  /** CliError `failed` with line numbers where a tenant was refused. */
  readonly failure: unknown;
}

/**
 * Puts each tenant: all of it or, when the server refuses, nothing of it and of those behind it; those before it stay. With
 * `dryRun` nothing is changed; with `prune` what the lists of the file do not name goes.
 */
export async function applyDocument(
  document: ConfigDocument,
  door: { readonly url: string; readonly key: string; readonly dryRun: boolean; readonly prune: boolean },
  file: ConfigFile,
): Promise<Applied> {
  const applied: AppliedTenant[] = [];
  const { url, key } = door;
  const query = new URLSearchParams({
    ...(door.dryRun && { dryRun: 'true' }),
    ...(door.prune && { prune: 'true' }),
  });
  for (const [i, tenant] of document.tenants.entries()) {
    const path = `/admin/v1/tenants/${tenant.name}?${query}`;
    try {
      const { changes } = AnswerSchema.parse(await callApi({ url, key, method: 'PUT', path, body: tenant }));
      applied.push({ tenant: tenant.name, changes });
    } catch (error) {
      return { tenants: applied, failure: located(error, i, file) };
    }
  }
  return { tenants: applied, failure: null };
}

/** What the server says of places, with the lines where they stand. */
function located(error: unknown, tenant: number, file: ConfigFile): unknown {
  if (!(error instanceof AppError) || error.fields.length === 0) return error;
  return file.refuse(
    error.fields.map(({ pointer, why = error.message }) => ({
      path: ['tenants', tenant, ...pathOf(pointer)],
      message: why,
    })),
  );
}

function faultsOf(error: z.ZodError | undefined, value: unknown): Fault[] {
  if (error === undefined) return [];
  return bodyFaults(error, value).map(({ pointer, why }) => ({ path: pathOf(pointer), message: why }));
}
