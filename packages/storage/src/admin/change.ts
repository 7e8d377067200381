import {
  type Actor,
  AppError,
  type ConfigChange,
  differencesOf,
  type FieldDifference,
  fieldsBelow,
  type Ids,
  type TenantId,
  type WriteOptions,
} from '@turnkeeper/core';
import type { QueryBuilder, Run } from '../read/queries.ts';
import type { Secrets, TenantSeal } from '../seal/sealing.ts';

/** What every change of one transaction needs. */
export interface ChangeContext {
  readonly run: Run;
  readonly build: QueryBuilder;
  readonly ids: Ids;
  readonly tenantId: TenantId;
  readonly seal: TenantSeal;
  readonly actor: Actor;
  readonly mustBeNew: boolean;
  readonly ifVersions: readonly number[] | undefined;
}

interface Shape {
  readonly config: object;
  readonly secrets: Secrets;
}

/** Where two versions differ. Secrets are named, their values never leave. */
export function fieldsOf(before: Shape | null, after: Shape): FieldDifference[] {
  const secrets = differencesOf(before?.secrets ?? {}, after.secrets, '/secrets').map(({ pointer }) => ({ pointer }));
  return [...differencesOf(before?.config ?? {}, after.config), ...secrets];
}

/** Records one change in the audit trail, in the transaction that makes it; an unchanged object leaves no trace. */
export async function audited(
  context: Pick<ChangeContext, 'run' | 'build' | 'ids' | 'tenantId' | 'actor'>,
  change: ConfigChange,
): Promise<ConfigChange> {
  if (change.result === 'unchanged') return change;
  const { run, build, ids, tenantId, actor } = context;
  await run(
    build.insertInto('tk.audit').values({
      tenant_id: tenantId,
      id: ids.next(),
      actor,
      action: `${change.kind}.${change.result}`,
      subject: `${change.kind}:${change.name}`,
      detail: JSON.stringify({ version: change.version, fields: change.fields.map(({ pointer }) => pointer) }),
    }),
  );
  return change;
}

/** `mustBeNew` met an object that is there and differs. */
export function refuseExisting(kind: 'agent' | 'account', fields: readonly FieldDifference[]): AppError {
  return new AppError({
    code: 'cannot_change',
    message: `An ${kind} of this name exists with another configuration. Choose another name, or PATCH it.`,
    fields: fields.map(({ pointer }) => ({ pointer, code: 'cannot_change' })),
  });
}

/** Ends a change whose caller has seen another version. @throws AppError `version_conflict` */
export function checkVersion({ ifVersions }: Pick<WriteOptions, 'ifVersions'>, version: number): void {
  if (ifVersions === undefined || ifVersions.includes(version)) return;
  throw new AppError({ code: 'version_conflict', message: `It is at version ${version} now. Read it again.` });
}

/** The body contradicts what is stored; `code` says why at that place. */
export function invalidConfig(pointer: string, code: string, message: string): AppError {
  return new AppError({ code: 'config_invalid', message, fields: [{ pointer, code }] });
}

/** A row that this transaction wrote cannot be read back: a fault of the program. */
export function vanished(): AppError {
  return new AppError({ code: 'internal', message: 'a configuration row vanished under its own lock' });
}

/** Errors of a part of a larger body point into that body. */
export async function below<T>(prefix: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || error.fields.length === 0) throw error;
    const { code, message, retryable } = error;
    const fields = fieldsBelow(prefix, error);
    throw new AppError({ code, message: `${prefix}: ${message}`, retryable, fields, cause: error });
  }
}
