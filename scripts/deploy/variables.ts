import type { ConfigOption } from '../../packages/platform/src/config/index.ts';
import { processTable } from '../../packages/platform/src/process/index.ts';
import { cliTable } from '../../services/cli/src/config.ts';
import { coordinatorTable } from '../../services/coordinator/src/config.ts';
import { ingressTable } from '../../services/ingress/src/config.ts';
import { sessionWorkerTable } from '../../services/session-worker/src/config.ts';

type Options = Readonly<Record<string, ConfigOption<unknown>>>;

const ROLES: Readonly<Record<string, Options>> = {
  ingress: { ...processTable.options, ...ingressTable.options },
  'session-worker': { ...processTable.options, ...sessionWorkerTable.options },
  coordinator: { ...processTable.options, ...coordinatorTable.options },
  migrate: cliTable.options,
};
export const SERVICES: readonly string[] = ['ingress', 'session-worker', 'coordinator'];

/** Variables of a container, as far as its manifest says them: null is a value that only the cluster knows. */
export type Environment = Readonly<Record<string, string | null>>;

/** What a process of this role would say against its variables, and against names that it does not read. */
export function variableFaults(role: string, env: Environment): string[] {
  const options = Object.values(ROLES[role] ?? {});
  if (options.length === 0) return [`there is no role ${role}`];
  const known = new Set(
    options.flatMap((option) => (option.secret ? [option.env, `${option.env}_FILE`] : [option.env])),
  );
  const unknown = Object.keys(env).filter((name) => name.startsWith('TURNKEEPER_') && !known.has(name));
  return [
    ...unknown.map((name) => `${role} reads no ${name}`),
    ...options.flatMap((option) => optionFaults(option, env)),
  ];
}

/** The value a role has, or its default. */
export function variableOf(role: string, name: string, env: Environment): string | null {
  const option = Object.values(ROLES[role] ?? {}).find((one) => one.env === name);
  return env[name] || (option?.fallback ?? null);
}

function optionFaults(option: ConfigOption<unknown>, env: Environment): string[] {
  const value = env[option.env];
  const isGiven = option.env in env || `${option.env}_FILE` in env;
  if (option.required && option.fallback === null && !isGiven) return [`${option.env} is missing`];
  if (value === undefined || value === null || value === '') return [];
  const read = option.read(value);
  return 'wrong' in read ? [`${option.env} ${read.wrong}`] : [];
}
