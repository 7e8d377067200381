import { randomBytes, randomInt } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { CliError } from '../exit.ts';

const secretsFile = z.object({
  /** Under which API keys are hashed. */
  pepper: z.string(),
  /** Which wraps the tenants' data keys. */
  masterKey: z.string(),
  operatorKey: z.string(),
  /** Of the demo tenant. */
  apiKey: z.string(),
  /** With which the demo webhook account checks signatures. */
  hookSecret: z.string(),
});

/** What a cluster must keep to read its own database again. */
export type UpSecrets = z.infer<typeof secretsFile>;

/**
 * The secrets of this data folder, made on the first start and kept, readable by their owner only.
 * @throws CliError `failed` when the file is there and is not ours: its keys cannot be made anew
 */
export async function loadSecrets(dataDir: string): Promise<UpSecrets> {
  const path = join(dataDir, 'secrets.json');
  const text = await readFile(path, 'utf8').catch(() => null);
  if (text === null) {
    const fresh = makeSecrets();
    await writeFile(`${path}.new`, `${JSON.stringify(fresh, null, 2)}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
    return fresh;
  }
  const parsed = secretsFile.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new CliError('failed', `${path} is damaged: put it back from a copy, or use another --data folder.`);
}

function makeSecrets(): UpSecrets {
  return {
    pepper: randomBytes(32).toString('base64url'),
    masterKey: randomBytes(32).toString('base64'),
    operatorKey: makeKey('tkop'),
    apiKey: makeKey('tk'),
    hookSecret: randomBytes(24).toString('base64url'),
  };
}

const KEY_ID = 'abcdefghijklmnopqrstuvwxyz0123456789';
const KEY_SECRET = `${KEY_ID}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

function makeKey(prefix: 'tk' | 'tkop'): string {
  return `${prefix}_${randomText(12, KEY_ID)}_${randomText(40, KEY_SECRET)}`;
}

function randomText(length: number, alphabet: string): string {
  return Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join('');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
