import { existsSync } from 'node:fs';
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

/** A profile of its own, in a browser of this file's that ends with it: to start one costs more than most tests do. */
export async function openBrowser(options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await (await shared()).newContext(options);
  context.setDefaultTimeout(30_000);
  return context;
}

const shared = lazily(() =>
  chromium.launch({ executablePath: CHROMIUM ?? '', headless: true, args: FLAGS, timeout: 60_000 }),
);

function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
