/**
 * Builds the pages if they are not built yet, and prints where they are. `node services/dashboard/build.ts`
 *
 * A build lies in `dist/<hash of its sources>/`, put there by one rename: whoever serves it never sees half of it, and
 * builds at the same time do not harm each other. With sources that are built already nothing is done but hashing.
 */
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HOME = fileURLToPath(new URL('./', import.meta.url));
const ROOT = join(HOME, '../..');
const DIST = join(HOME, 'dist');
const SOURCES = [
  'services/dashboard/{build.ts,chat.html,package.json,src/**/*}',
  'packages/client/src/**/*',
  'package-lock.json',
];
/** Builds of other sources may still be served by a cluster that runs. */
const KEPT_MS = 7 * 24 * 3_600_000;

const folder = join(DIST, hashOf(SOURCES));
if (!existsSync(folder)) await build(folder);
process.stdout.write(`${folder}\n`);

function hashOf(patterns: readonly string[]): string {
  const hash = createHash('sha256');
  const files = globSync(patterns, { cwd: ROOT, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const path of files.map((entry) => join(entry.parentPath, entry.name)).sort()) {
    hash
      .update(`${path.slice(ROOT.length)}\0`)
      .update(readFileSync(path))
      .update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

async function build(target: string): Promise<void> {
  // whatever started this, a test too: React is built for people
  process.env['NODE_ENV'] = 'production';
  const [vite, { default: react }] = await Promise.all([import('vite'), import('@vitejs/plugin-react')]);
  await mkdir(DIST, { recursive: true });
  const outDir = await mkdtemp(join(DIST, '.building-'));
  await vite.build({
    ...{ root: HOME, base: '/chat/', configFile: false, logLevel: 'warn', plugins: [react()] },
    build: {
      ...{ outDir, emptyOutDir: true, target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false } },
      rollupOptions: {
        input: { chat: join(HOME, 'chat.html'), embed: join(HOME, 'src/embed.ts') },
        output: { entryFileNames: ({ name }) => (name === 'embed' ? 'embed.js' : 'assets/[name]-[hash].js') },
      },
    },
  });
  try {
    await rename(outDir, target);
  } catch (error) {
    // somebody else has built the same meanwhile
    await rm(outDir, { recursive: true });
    if (!existsSync(target)) throw error;
  }
  await removeOld(target);
}

async function removeOld(current: string): Promise<void> {
  for (const name of await readdir(DIST)) {
    const path = join(DIST, name);
    if (path !== current && Date.now() - (await stat(path)).mtimeMs > KEPT_MS)
      await rm(path, { recursive: true, force: true });
  }
}
