import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';

/** What Debian's package installs (`apt-get install chromium`), or whatever TURNKEEPER_CHROMIUM names; null: none. */
export const CHROMIUM = [
  process.env['TURNKEEPER_CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
].find((path) => path !== '' && existsSync(path));
if (CHROMIUM === undefined) {
  console.warn('browser tests are skipped: no Chromium (apt-get install chromium, or TURNKEEPER_CHROMIUM=<path>)');
}

/** Works for root and in containers, and asks nobody on the network. */
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
];

/** A browser with a profile of its own, that goes with it. */
export async function openBrowser(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const profile = await mkdtemp(join(tmpdir(), 'turnkeeper-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    ...{ executablePath: CHROMIUM ?? '', headless: true, args: FLAGS, timeout: 60_000 },
    ...options,
  });
  context.setDefaultTimeout(30_000);
  context.on('close', () => void rm(profile, { recursive: true, force: true, maxRetries: 10 }));
  return context;
}
