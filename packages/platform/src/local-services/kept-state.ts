import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '@turnkeeper/core';
import { z } from 'zod';
import { postgresFolder } from './postgres.ts';

const source = z.enum(['docker', 'npm', 'path', 'debian']);
const keptState = z.object({
  /** Names what lies outside of the folder and must not be found again by another folder at this place. */
  id: z.string(),
  postgresPassword: z.string(),
  redisPassword: z.string(),
  /** Relative to the data folder, which may be moved; absolute where it had to lie elsewhere. */
  postgresFolder: z.string(),
  sources: z.object({ postgres: source, redis: source, nats: source }).partial(),
});

/** What a data folder remembers of its services: without it a second start would not find its data. */
export type KeptState = z.infer<typeof keptState>;

const FILE = 'services.json';

/** @throws AppError `store_unavailable` when the file is there and is not ours */
export async function readKeptState(dataDir: string): Promise<KeptState> {
  const path = join(dataDir, FILE);
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) return freshState(dataDir);
  const parsed = keptState.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new AppError({
    code: 'store_unavailable',
    message: `${path} is damaged: restore it, or use another data folder.`,
  });
}

/** By rename, so that a killed start leaves the old or the new one. */
export async function writeKeptState(dataDir: string, state: KeptState): Promise<void> {
  const path = join(dataDir, FILE);
  await writeFile(`${path}.new`, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

function freshState(dataDir: string): KeptState {
  return {
    id: randomBytes(8).toString('hex'),
    postgresPassword: randomBytes(24).toString('base64url'),
    redisPassword: randomBytes(24).toString('base64url'),
    postgresFolder: postgresFolder(dataDir),
    sources: {},
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
