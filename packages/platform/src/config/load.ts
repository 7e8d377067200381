import { readFileSync } from 'node:fs';
import { AppError } from '@turnkeeper/core';
import type { ConfigOf, ConfigOption, ConfigTable } from './option.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process: the one place that reads it. */
export function environment(): Environment {
  return process.env;
}

/**
 * Reads a table from the environment into a frozen object. An empty variable counts as unset.
 * @throws AppError `config_invalid`: one message that names every wrong variable and what it must be.
 */
export function loadConfig<Options extends Record<string, ConfigOption<unknown>>>(
  table: ConfigTable<Options>,
  env: Environment = environment(),
): ConfigOf<ConfigTable<Options>> {
  const values: Record<string, unknown> = {};
  const wrong: string[] = [];
  for (const [name, option] of Object.entries(table.options)) {
    const result = readOption(option, env);
    if ('wrong' in result) wrong.push(`  ${option.env} ${result.wrong} (${option.help})`);
    else values[name] = result.value;
  }
  if (wrong.length > 0) {
    throw new AppError({ code: 'config_invalid', message: `The configuration is wrong:\n${wrong.join('\n')}` });
  }
  return Object.freeze(values) as ConfigOf<ConfigTable<Options>>;
}

/** The configuration as it may be printed: by variable name, secrets hidden. */
export function describeConfig<Options extends Record<string, ConfigOption<unknown>>>(
  table: ConfigTable<Options>,
  config: ConfigOf<ConfigTable<Options>>,
): Record<string, string> {
  const values = config as Record<string, unknown>;
  const shown: Record<string, string> = {};
  for (const [name, option] of Object.entries(table.options)) {
    if (values[name] !== undefined) shown[option.env] = option.show(values[name]);
  }
  return shown;
}

type ReadResult = { readonly value: unknown } | { readonly wrong: string };

function readOption(option: ConfigOption<unknown>, env: Environment): ReadResult {
  const given = givenText(option, env);
  if ('wrong' in given) return given;
  const written = given.value ?? option.fallback;
  if (written !== null) return option.read(written);
  return option.required ? { wrong: 'must be set' } : { value: undefined };
}

function givenText(option: ConfigOption<unknown>, env: Environment): { value: string | null } | { wrong: string } {
  const direct = env[option.env] || null;
  const path = option.secret ? env[`${option.env}_FILE`] || null : null;
  if (path === null) return { value: direct };
  if (direct !== null) return { wrong: `is set, and ${option.env}_FILE too: give one of them` };
  try {
    return { value: readFileSync(path, 'utf8').replace(/\r?\n$/, '') };
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unreadable';
    return { wrong: `cannot be read from the file that ${option.env}_FILE names (${code})` };
  }
}
