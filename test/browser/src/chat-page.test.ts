/** The chat page in a real browser: how it looks, what it lets a text do, and that it is usable without a mouse or eyes. */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import axe from 'axe-core';
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { CHROMIUM, openBrowser } from './chromium.ts';
import { ScriptedRoom } from './scripted-room.ts';

const SHOTS = fileURLToPath(new URL('../../../.cache/screenshots/', import.meta.url));
const BUILD = fileURLToPath(new URL('../../../services/dashboard/build.ts', import.meta.url));

describe.skipIf(CHROMIUM === undefined)('the chat page', () => {
  let cluster: Cluster;
  let browser: BrowserContext;
  let url: string;

  beforeAll(async () => {
    mkdirSync(SHOTS, { recursive: true });
    const folder = execFileSync(process.execPath, [BUILD], { encoding: 'utf8' }).trim();
    const limits = { TURNKEEPER_UPLOAD_BYTES_MAX: String(64 * 1024) };
    const env = { TURNKEEPER_CHAT_FOLDER: folder, TURNKEEPER_CHAT_GUESTS: 'test.web', ...limits };
    cluster = await startCluster({
      urls: inject('urls'),
      ingress: 1,
      workers: 0,
      coordinators: 0,
      mode: 'inline',
      env,
    });
    url = `${cluster.ingress[0]?.url}/chat`;
    browser = await openBrowser({ viewport: { width: 1100, height: 800 } });
  }, 240_000);
  afterAll(async () => {
    await browser.close();
    await cluster[Symbol.asyncDispose]();
  });

  let page: Page;
  let room: ScriptedRoom;
  const faults: string[] = [];

  beforeEach(async () => {
    await page?.close();
    page = await browser.newPage();
    room = new ScriptedRoom();
    faults.length = 0;
    page.on('console', (line) => line.type() === 'error' && faults.push(line.text()));
    page.on('pageerror', (error) => faults.push(error.message));
    await room.takeOver(page);
  });

  const field = () => page.getByRole('textbox', { name: 'Message' });
  const log = () => page.getByRole('log', { name: 'Conversation' });
  const sent = () => room.frames.filter(({ type }) => type === 'message');

  async function open(hash = ''): Promise<void> {
    await page.goto(`${url}${hash}`);
    await page.getByText('Connected').waitFor();
  }

  /** What stands in most conversations. */
  function talk(): void {
    room.message('user', 'Can you compare the two plans?');
    room.message('assistant', PLANS);
    room.message('user', 'And how do I cancel?');
    room.message(
      'assistant',
      'Write to us **at any time**; it ends with the month. Details are on [the page about cancelling](https://example.com/cancel).',
    );
    room.message('assistant', 'Ada here, from the team. I have looked at your account: there is nothing left to pay.', {
      author: 'human',
    });
    room.tell('notice.created', { code: 'session_reset', text: 'A new conversation begins here.' });
    room.message('user', 'Thanks!');
  }

  async function shoot(name: string): Promise<void> {
    await page.screenshot({ path: `${SHOTS}${name}.png` });
  }

  it.for(['light', 'dark'] as const)('is drawn in the %s theme of the system', async (theme) => {
    await page.emulateMedia({ colorScheme: theme });
    await open('#title=Acme%20Support');
    talk();
    room.tell('turn.started', { runIds: [] });
    room.delta(0, 'You are welcome. One moment, I am');
    await page.getByText('One moment, I am').waitFor();
    await shoot(`chat-${theme}`);
    await page.evaluate('document.querySelector(".log").scrollTo(0, 0)');
    await page.getByRole('button', { name: 'Newest messages' }).waitFor();
    await shoot(`chat-${theme}-long`);
    const back = await page.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(back).toBe(theme === 'light' ? 'rgb(246, 247, 251)' : 'rgb(18, 21, 29)');
    expect(faults).toEqual([]);
  });

  it('fits a phone: nothing is wider than the screen', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await open();
    talk();
    room.tell('input.required', {
      inputId: 'inp_1',
      kind: 'choice',
      prompt: 'Shall I cancel the plan now?',
      options: ['Yes, cancel', 'No, keep it'],
      expiresAt: null,
    });
    await page.getByRole('button', { name: 'Yes, cancel' }).waitFor();
    await shoot('chat-phone');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  });

  it('says that it reconnects, keeps what is written meanwhile, and sends it once it is back', async () => {
    await open();
    talk();
    await page.getByText('Thanks!').waitFor();
    room.isAway = true;
    room.cut();
    await page.getByText('Reconnecting…').waitFor();
    await field().fill('Are you still there?');
    await field().press('Enter');
    await page.getByText('Will be sent when connected').waitFor();
    await shoot('chat-reconnecting');
    expect(sent()).toEqual([]);
    room.isAway = false;
    await page.getByText('Connected', { exact: true }).waitFor();
    await expect.poll(() => sent().length).toBe(1);
    expect(sent()[0]?.['text']).toBe('Are you still there?');
    room.message('user', 'Are you still there?', { clientId: sent()[0]?.['clientId'] });
    await log().getByText('Are you still there?').waitFor();
    expect(await page.getByText('Are you still there?').count()).toBe(1);
  });

  it('keeps an unsent message over a reload', async () => {
    await open();
    room.isAway = true;
    room.cut();
    await page.getByText('Reconnecting…').waitFor();
    await field().fill('not lost');
    await field().press('Enter');
    await page.getByText('Will be sent when connected').waitFor();
    room.isAway = false;
    await page.reload();
    await expect.poll(() => sent().map(({ text }) => text)).toEqual(['not lost']);
  });

  it('shows what a text says, and does nothing of it', async () => {
    await open();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    for (const text of PAYLOADS) room.message('assistant', text);
    room.delta(0, PAYLOADS.join('\n\n'));
    room.message('assistant', 'the end');
    await page.getByText('the end').waitFor();
    expect(await page.evaluate('window.hacked')).toBeUndefined();
    expect(await log().locator('script, iframe, object, embed, form, img, svg, style').count()).toBe(0);
    const links = (await page.evaluate(
      '[...document.querySelectorAll("[role=log] a")].map((a) => [a.getAttribute("href"), a.rel])',
    )) as string[][];
    expect(links.length).toBeGreaterThan(0);
    expect(links.every(([href, rel]) => /^(https?|mailto):/.test(href ?? '') && rel?.includes('noopener'))).toBe(true);
    expect(asked).toEqual([]);
  });

  it('is used with the keyboard alone', async () => {
    await open();
    await expect.poll(() => page.evaluate('document.activeElement?.getAttribute("aria-label")')).toBe('Message');
    await page.keyboard.type('one');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('two');
    await page.keyboard.press('Enter');
    await expect.poll(() => sent().map(({ text }) => text)).toEqual(['one\ntwo']);
    room.tell('turn.started', { runIds: [] });
    await page.getByRole('button', { name: 'Stop the assistant' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => room.frames.some(({ type }) => type === 'stop')).toBe(true);
    room.tell('turn.interrupted', { reason: 'stop', willResume: false });
    room.tell('input.required', { inputId: 'inp_1', kind: 'text', prompt: 'Which city?', options: null });
    await page.getByRole('textbox', { name: 'Answer: Which city?' }).waitFor();
    await page.keyboard.type('Paris');
    await page.keyboard.press('Enter');
    await expect
      .poll(() => room.frames.find(({ type }) => type === 'input.answer'))
      .toMatchObject({ inputId: 'inp_1', text: 'Paris' });
  });

  it('keeps what a stopped assistant had written, and says that it was stopped', async () => {
    await open();
    room.message('user', 'Tell me about the harbour');
    room.tell('turn.started', { runIds: [] });
    room.delta(0, 'The harbour was built in 1874, when');
    await page.getByText('The harbour was built').waitFor();
    await page.getByRole('button', { name: 'Stop the assistant' }).click();
    await page.keyboard.type('typed at once');
    expect(await field().inputValue()).toBe('typed at once');
    room.tell('turn.interrupted', { reason: 'stop', willResume: false });
    room.tell('notice.created', { code: 'stopped', text: 'Stopped.' });
    await log().getByText('Stopped.').waitFor();
    expect(await log().getByRole('listitem').count()).toBe(3);
    await log().getByText('The harbour was built in 1874, when …').waitFor();
    await shoot('chat-stopped');
    room.message('assistant', 'The harbour was built in 1874, when', { cut: true });
    await page.reload();
    await log().getByText('The harbour was built in 1874, when …').waitFor();
    const said = ['Tell me about the harbour', 'The harbour was built in 1874, when …', 'Stopped.'];
    await expect.poll(() => log().getByRole('paragraph').allTextContents()).toEqual(said);
  });

  it('takes what is written for the answer to a question, and keeps both in the conversation', async () => {
    await open();
    room.message('user', 'A ticket to the sea, please');
    const asks = { inputId: 'inp_1', kind: 'question', prompt: 'Which city do you start from?', options: null };
    room.tell('input.required', asks);
    await page.getByRole('button', { name: 'Stop the assistant' }).waitFor();
    await shoot('chat-question');
    const answer = page.getByRole('textbox', { name: 'Answer: Which city do you start from?' });
    room.isAway = true;
    room.cut();
    await page.getByText('Reconnecting…').waitFor();
    await answer.fill('Paris');
    await answer.press('Enter');
    await page.getByText('Your answer: Paris – will be sent when connected').waitFor();
    room.isAway = false;
    await expect
      .poll(() => room.frames.filter(({ type }) => type === 'input.answer'), { timeout: 20_000 })
      .toMatchObject([{ inputId: 'inp_1', text: 'Paris' }]);
    room.message('user', 'Paris', { inputId: 'inp_1' });
    room.tell('input.resolved', { inputId: 'inp_1', outcome: 'answered', by: 'visitor' });
    room.message('assistant', 'Then it is 42 €.');
    await log().getByText('Then it is 42 €.').waitFor();
    const said = ['A ticket to the sea, please', 'Which city do you start from?', 'Paris', 'Then it is 42 €.'];
    expect(await log().getByRole('paragraph').allTextContents()).toEqual(said);
    await shoot('chat-answered');
    await page.reload();
    await log().getByText('Then it is 42 €.').waitFor();
    expect(await log().getByRole('paragraph').allTextContents()).toEqual(said);
    expect(sent()).toEqual([]);
  });

  it.for(['light', 'dark'] as const)('has no serious fault of accessibility in the %s theme', async (theme) => {
    await page.emulateMedia({ colorScheme: theme });
    await open();
    talk();
    room.tell('input.required', { inputId: 'inp_1', kind: 'choice', prompt: 'Shall I?', options: ['Yes', 'No'] });
    room.say({ type: 'error', data: { code: 'nothing_to_stop', detail: '' } });
    await page.getByRole('textbox', { name: 'Answer: Shall I?' }).fill('x');
    await page.getByRole('button', { name: 'Yes' }).waitFor();
    await page.evaluate(axe.source);
    const found = (await page.evaluate('axe.run()')) as {
      violations: { impact: string; id: string; nodes: { html: string }[] }[];
    };
    const serious = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
    expect(serious.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([]);
  });

  describe('with files', () => {
    const chosen = () => page.getByRole('list', { name: 'Files of this message' });
    const pier = { name: 'pier.png', mimeType: 'image/png', buffer: PICTURE };

    /** As a drag or the clipboard gives them. */
    function given(event: 'drop' | 'paste', names: readonly string[]): Promise<unknown> {
      return page.evaluate(`(() => {
        const data = new DataTransfer();
        for (const name of ${JSON.stringify(names)}) data.items.add(new File(['text'], name, { type: 'text/plain' }));
        const field = document.querySelector('textarea');
        const about = { bubbles: true, cancelable: true };
        if ('${event}' === 'paste') field.dispatchEvent(new ClipboardEvent('paste', { ...about, clipboardData: data }));
        else for (const type of ['dragenter', 'dragover', 'drop'])
          field.dispatchEvent(new DragEvent(type, { ...about, dataTransfer: data }));
      })()`);
    }

    it('takes those that are chosen, dropped and pasted, and sends them with the message', async () => {
      await open();
      await page.locator('input[type=file]').setInputFiles(pier);
      await given('drop', ['dropped.txt']);
      await given('paste', ['pasted.txt']);
      await expect.poll(() => chosen().getByText('4 bytes').count()).toBe(2);
      await page.getByRole('button', { name: 'Remove dropped.txt' }).click();
      await shoot('chat-attaching');
      await page.route('**/v1/attachments/**', (route) => route.fulfill({ body: PICTURE, contentType: 'image/png' }));
      const picture = { type: 'attachment', ref: 'att_7', name: 'pier.png', mime: 'image/png', size: 70 };
      const contract = {
        type: 'attachment',
        ref: 'att_8',
        name: 'contract.pdf',
        mime: 'application/pdf',
        size: 81_234,
      };
      room.message('user', 'These two', { parts: [contract] });
      room.message('assistant', 'Thank you. Here is the pier:', { parts: [picture, contract] });
      await page.getByRole('button', { name: 'Show pier.png' }).waitFor();
      await shoot('chat-attachments');
      await field().fill('Look');
      await field().press('Enter');
      await expect.poll(() => sent()).toMatchObject([{ text: 'Look', uploads: [{ mime: 'image/png' }, {}] }]);
      expect(room.uploads).toEqual(['pier.png', 'dropped.txt', 'pasted.txt']);
      expect(await chosen().count()).toBe(0);
      expect(faults).toEqual([]);
    });

    it('shows how far one is, sends nothing before it is there, and lets it be taken away', async () => {
      await open();
      room.uploadAnswer = null;
      await page.locator('input[type=file]').setInputFiles(pier);
      await page.getByRole('progressbar', { name: 'Sending pier.png' }).waitFor();
      await field().fill('Look');
      expect(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true);
      await page.getByRole('button', { name: 'Remove pier.png' }).click();
      await field().press('Enter');
      await expect.poll(() => sent().map(({ uploads = null }) => uploads)).toEqual([null]);
    });

    it('says what is the matter with one, and tries again what may work then', async () => {
      await open();
      room.uploadAnswer = { status: 503, body: { code: 'store_unavailable' } };
      const large = { name: 'film.mp4', mimeType: 'video/mp4', buffer: Buffer.alloc(70_000) };
      const empty = { name: 'empty.txt', mimeType: 'text/plain', buffer: Buffer.alloc(0) };
      await page.locator('input[type=file]').setInputFiles([large, empty, pier]);
      await chosen().getByText('is too large: 68 kB of at most 64 kB').waitFor();
      await chosen().getByText('is empty, or a folder').waitFor();
      await chosen().getByText('could not be sent').waitFor();
      await shoot('chat-file-faults');
      expect(room.uploads).toEqual(['pier.png']);
      room.uploadAnswer = { status: 201, body: {} };
      await page.getByRole('button', { name: 'Send pier.png again' }).click();
      await expect.poll(() => chosen().getByText(`${PICTURE.length} bytes`).count()).toBe(1);
      await page.locator('input[type=file]').setInputFiles(Array.from({ length: 9 }, () => pier));
      await page.getByText('A message takes 10 files: 2 not added.').waitFor();
    });
  });

  it('says in words why it cannot be used', async () => {
    await page.route('**/chat/token', (route) => route.fulfill({ status: 404, json: {} }));
    await page.goto(url);
    await page.getByRole('heading', { name: 'You are not signed in here' }).waitFor();
    await shoot('chat-signed-out');
  });

  it('takes its token out of its address', async () => {
    await open('#token=a.b.c&title=Hello');
    expect(page.url()).toBe(`${url}#title=Hello`);
    expect(room.frames[0]).toEqual({ type: 'auth', token: 'a.b.c' });
  });

  it('is framed by nobody else, loads nothing of others, and keeps what cannot change', async () => {
    const answer = await fetch(url);
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain("frame-ancestors 'self'");
    const [asset = ''] = /\/chat\/assets\/[^"]+\.js/.exec(await answer.text()) ?? [];
    const script = await fetch(new URL(asset, url));
    expect(script.headers.get('cache-control')).toContain('immutable');
    const again = await fetch(url, { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } });
    expect(again.status).toBe(304);
  });
});

const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
);

const PLANS = `Gladly. In short:

| | Basic | Team |
|---|---|---|
| Seats | 1 | up to 20 |
| History | 30 days | 1 year |
| Price | free | 12 € per seat |

- **Basic** is enough to try it out.
- **Team** adds shared inboxes, and \`api\` access:

\`\`\`sh
curl https://api.example.com/v1/messages -H 'Authorization: Bearer …'
\`\`\``;

const PAYLOADS = [
  '<script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 1">',
  '![pixel](https://tracker.example/p.png)',
  '[click](javascript:window.hacked=1)',
  '[data](data:text/html,<script>window.hacked=1</script>)',
  '<a href="javascript:window.hacked=1">x</a>',
  '<svg onload="window.hacked=1"></svg>',
  '<iframe src="javascript:window.hacked=1"></iframe>',
  '<style>* { display: none }</style>',
  '[ok](https://example.com "title")',
  '<https://example.com/auto>',
  '```\n</code><script>window.hacked=1</script>\n```',
];
