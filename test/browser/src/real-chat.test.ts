/** The chat page with a whole cluster behind it: streams, comes back, loses nothing and says nothing twice. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import type { BrowserContext, Page, WebSocketRoute } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { CHROMIUM, openBrowser } from './chromium.ts';

const BUILD = fileURLToPath(new URL('../../../services/dashboard/build.ts', import.meta.url));
const WORDS = Array.from({ length: 24 }, (_, i) => `word${i}`).join(' ');
const PROGRAM = '<svg xmlns="http://www.w3.org/2000/svg"><script>window.hacked = 1</script></svg>';
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

describe.skipIf(CHROMIUM === undefined)('the chat page of a cluster', () => {
  let cluster: Cluster;
  let browser: BrowserContext;
  let page: Page;
  let url: string;

  beforeAll(async () => {
    const folder = execFileSync(process.execPath, [BUILD], { encoding: 'utf8' }).trim();
    const env = { TURNKEEPER_CHAT_FOLDER: folder, TURNKEEPER_CHAT_GUESTS: 'test.web' };
    cluster = await startCluster({
      urls: inject('urls'),
      ingress: 1,
      workers: 1,
      coordinators: 1,
      mode: 'inline',
      env,
    });
    const agents = [{ name: 'main', runtime: 'echo', echo: { wordMs: 150 } }];
    const accounts = [{ name: 'web', agent: 'main', channel: 'webchat' }];
    await cluster.putTenant({ name: 'test', key: cluster.apiKey, agents, accounts });
    url = `${cluster.ingress[0]?.url}/chat`;
  }, 240_000);
  afterAll(() => cluster[Symbol.asyncDispose]());

  /** A guest of its own, whose conversation is empty. */
  beforeEach(async () => {
    browser = await openBrowser();
    page = await browser.newPage();
    return () => browser.close();
  });

  const field = () => page.getByRole('textbox', { name: 'Message' });
  const answers = () => page.locator('[role=log] [data-from=assistant] .bubble');
  const live = () => page.locator('[data-live] .bubble');

  async function ask(text: string): Promise<void> {
    await page.goto(url);
    await page.getByText('Connected', { exact: true }).waitFor();
    await field().fill(text);
    await field().press('Enter');
  }

  it('streams an answer, and has it after a reload', { timeout: 120_000 }, async () => {
    await ask(WORDS);
    await live().getByText('word0').waitFor();
    expect(await answers().count()).toBe(0);
    await expect.poll(() => answers().allInnerTexts(), { timeout: 60_000 }).toEqual([WORDS]);
    await page.reload();
    await expect.poll(() => answers().allInnerTexts(), { timeout: 60_000 }).toEqual([WORDS]);
    expect(await page.locator('[role=log] [data-from=you]').count()).toBe(1);
    expect(await page.getByText('Sending…').count()).toBe(0);
  });

  it('whose socket is cut in mid-answer shows the whole text, once', { timeout: 120_000 }, async () => {
    const sockets: WebSocketRoute[] = [];
    await page.routeWebSocket('**/v1/ws', (socket) => {
      sockets.push(socket);
      socket.connectToServer();
    });
    await ask(WORDS);
    await live().getByText('word3').waitFor();
    await sockets[0]?.close({ code: 1012 });
    await expect.poll(() => answers().allInnerTexts(), { timeout: 60_000 }).toEqual([WORDS]);
    expect(sockets.length).toBeGreaterThan(1);
    expect(await page.locator('.message[data-from=you]').count()).toBe(1);
    expect(await live().count()).toBe(0);
  });

  it('answers what the agent asks', { timeout: 120_000 }, async () => {
    await ask('[[ask Which city?]]');
    const answer = page.getByRole('textbox', { name: 'Which city?' });
    await answer.fill('Paris');
    await answer.press('Enter');
    // the question, and what the agent says to its answer
    await expect.poll(() => answers().allInnerTexts(), { timeout: 60_000 }).toEqual(['Which city?', 'Paris']);
    expect(await answer.count()).toBe(0);
  });

  it('brings files, shows pictures, and runs nothing of a file', { timeout: 120_000 }, async () => {
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(error.message));
    await page.goto(url);
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.locator('input[type=file]').setInputFiles([
      { name: 'dot.png', mimeType: 'image/png', buffer: PICTURE },
      { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(PROGRAM) },
      { name: 'page.png', mimeType: 'image/png', buffer: Buffer.from(PROGRAM) },
    ]);
    await expect.poll(() => page.getByRole('progressbar').count(), { timeout: 60_000 }).toBe(0);
    await field().fill('three files');
    await field().press('Enter');
    await expect.poll(() => answers().count(), { timeout: 60_000 }).toBe(1);
    await answers().getByRole('img', { name: 'dot.png', exact: true }).waitFor();
    expect(await page.evaluate('document.querySelector("[data-from=assistant] img").naturalWidth')).toBe(1);
    expect(await answers().locator('img:not(dialog img), svg:not([aria-hidden]), iframe, object, embed').count()).toBe(
      1,
    );
    const saving = page.waitForEvent('download');
    await answers().getByRole('button', { name: 'Save logo.svg' }).click();
    const saved = await (await saving).createReadStream();
    expect(Buffer.concat(await saved.toArray()).toString()).toBe(PROGRAM);
    await answers().getByRole('button', { name: 'Show dot.png' }).click();
    await page.getByRole('dialog', { name: 'dot.png' }).getByRole('button', { name: 'Close' }).press('Enter');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(page.context().pages().length).toBeLessThanOrEqual(2);
    expect(faults).toEqual([]);
  });

  it('stops what is being written', { timeout: 120_000 }, async () => {
    await ask(Array.from({ length: 10 }, () => WORDS).join(' '));
    await live().getByText('word2').first().waitFor();
    await page.getByRole('button', { name: 'Stop the assistant' }).click();
    await page.getByRole('log').getByText('Stopped.').waitFor();
    expect(await live().count()).toBe(0);
    expect(await answers().first().textContent()).toContain('word2');
  });
});
