import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '@turnkeeper/platform/config';
import type { Command } from 'commander';
import { z } from 'zod';
import { cliTable } from './config.ts';
import { CliError } from './exit.ts';

/** Options that say which cluster a command talks to, and as whom. */
export interface TargetFlags {
  readonly url?: string;
  readonly key?: string;
  readonly adminUrl?: string;
  readonly operatorKey?: string;
  readonly postgresUrl?: string;
  readonly data?: string;
}

/** Each is found as: flag, else environment, else the running `turnkeeper up`. Missing → CliError `usage`. */
export interface Target {
  /** A tenant's door. */
  tenant(): { readonly url: string; readonly key: string };
  /** The operators' door. */
  operator(): { readonly url: string; readonly key: string };
  postgresUrl(): string;
  /** Null when nobody says where they are. */
  readonly stores: { readonly redisUrl: string | null; readonly natsUrl: string | null };
}

/** The data folder of `turnkeeper up`: the flag, else TURNKEEPER_DATA, else `.data` beside the package.json of this checkout. */
export function dataDirOf(flag: string | undefined): string {
  const folder = flag ?? loadConfig(cliTable).data;
  return folder === undefined ? CHECKOUT_DATA_DIR : resolve(folder);
}

/** Where commands look that are told no folder. */
export const isDefaultDataDir = (dataDir: string): boolean => dataDir === dataDirOf(undefined);

const CHECKOUT_DATA_DIR = fileURLToPath(new URL('../../../.data', import.meta.url));

const FLAGS = {
  tenant: [
    ['--url <url>', 'address of an ingress (TURNKEEPER_URL)'],
    ['--key <key>', 'API key of the tenant (TURNKEEPER_KEY)'],
  ],
  operator: [
    ['--admin-url <url>', 'internal address of an ingress (TURNKEEPER_ADMIN_URL)'],
    ['--operator-key <key>', 'operator key (TURNKEEPER_OPERATOR_KEY)'],
  ],
  database: [['--postgres-url <url>', 'address of the database (TURNKEEPER_POSTGRES_URL)']],
} as const;

/** Adds the options for these doors to a command. */
export function addTargetFlags(command: Command, ...doors: readonly (keyof typeof FLAGS)[]): Command {
  for (const door of doors) for (const [flag, help] of FLAGS[door]) command.option(flag, help);
  return command.option('--data <folder>', 'data folder of a running `turnkeeper up`, to find all of this there');
}

/** Looks for addresses and keys; what is missing is told only when it is asked for. */
export async function resolveTarget(flags: TargetFlags): Promise<Target> {
  const env = loadConfig(cliTable);
  const up = await readUpFile(dataDirOf(flags.data));
  const need = (value: string | undefined, what: string, flag: string) => {
    if (value !== undefined) return value;
    const where = 'the folder of one that runs with --data';
    throw new CliError('usage', `No ${what}: start a cluster with "npm start", name ${where}, or give ${flag}.`);
  };
  return {
    tenant: () => ({
      url: addressesOf(
        need(flags.url ?? env.url ?? up?.ingress[0], 'address of an ingress', '--url or TURNKEEPER_URL'),
      ),
      key: need(flags.key ?? env.key ?? up?.apiKey, 'API key', '--key or TURNKEEPER_KEY'),
    }),
    operator: () => ({
      url: addressesOf(
        need(
          flags.adminUrl ?? env.adminUrl ?? up?.internal[0],
          'internal address',
          '--admin-url or TURNKEEPER_ADMIN_URL',
        ),
      ),
      key: need(
        flags.operatorKey ?? env.operatorKey ?? up?.operatorKey,
        'operator key',
        '--operator-key or TURNKEEPER_OPERATOR_KEY',
      ),
    }),
    postgresUrl: () =>
      need(
        flags.postgresUrl ?? env.postgresUrl ?? up?.postgresUrl,
        'database',
        '--postgres-url or TURNKEEPER_POSTGRES_URL',
      ),
    stores: { redisUrl: env.redisUrl ?? up?.redisUrl ?? null, natsUrl: env.natsUrl ?? up?.natsUrl ?? null },
  };
}

const upFile = z.looseObject({
  ingress: z.array(z.string()),
  internal: z.array(z.string()),
  apiKey: z.string(),
  operatorKey: z.string(),
  postgresUrl: z.string(),
  redisUrl: z.string(),
  natsUrl: z.string(),
});

async function readUpFile(dataDir: string): Promise<z.infer<typeof upFile> | null> {
  const path = join(dataDir, 'up.json');
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return null;
  const parsed = upFile.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new CliError('failed', `${path} was not written by "turnkeeper up": remove it.`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** `host:port` is an http address. Several stand with commas between them. @throws CliError `usage` */
function addressesOf(text: string): string {
  return text.split(',').map(addressOf).join(',');
}

function addressOf(text: string): string {
  const address = text.trim();
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `http://${address}`;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url.replace(/\/+$/, '');
  throw new CliError('usage', `${text} is no address: it looks like http://127.0.0.1:8420.`);
}
