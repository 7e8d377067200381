import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type FastifyInstance, fastify } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { registerChatPage } from './chat-page.ts';

const FRAMES = "'self' https://shop.example";
let folder: string;
let app: FastifyInstance;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'chat-page-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'chat.html'), '<!doctype html>the page');
  writeFileSync(join(folder, 'embed.js'), 'the script of other pages');
  writeFileSync(join(folder, 'assets', 'chat-1a2b.js'), 'the script of the page');
  app = fastify();
  registerChatPage(app, { chat: { folder, guests: undefined, frames: FRAMES } } as never);
});
afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: 'GET', url, headers });

describe('embed.js', () => {
  it('is a script that pages of other origins may load, and that is new within minutes of a new version', async () => {
    const answer = await get('/chat/embed.js', { origin: 'https://shop.example', 'sec-fetch-site': 'cross-site' });
    expect([answer.statusCode, answer.body]).toEqual([200, 'the script of other pages']);
    expect(answer.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cross-origin-resource-policy': 'cross-origin',
      'cache-control': 'public, max-age=300',
      'x-content-type-options': 'nosniff',
    });
  });

  it('comes small to who can unpack it, and not at all to who has it', async () => {
    const packed = await get('/chat/embed.js', { 'accept-encoding': 'gzip, br' });
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(packed.rawPayload).toString()).toBe('the script of other pages');
    const known = await get('/chat/embed.js', { 'if-none-match': String(packed.headers.etag) });
    expect([known.statusCode, known.body]).toEqual([304, '']);
  });
});

describe('the page', () => {
  it('is framed by the named pages alone, and only this server’s own pages load its files', async () => {
    const page = await get('/chat');
    expect(page.body).toContain('the page');
    expect(page.headers['content-security-policy']).toContain(`frame-ancestors ${FRAMES}`);
    expect(page.headers['cache-control']).toBe('no-cache');
    const script = await get('/chat/assets/chat-1a2b.js');
    expect(script.headers).toMatchObject({
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'public, max-age=31536000, immutable',
    });
  });

  it('lets nobody in who has no token when guests are not let in, and has no other files', async () => {
    expect((await app.inject({ method: 'POST', url: '/chat/token' })).statusCode).toBe(404);
    expect((await get('/chat/../chat.html')).statusCode).toBe(404);
    expect((await get('/chat/nothing.js')).statusCode).toBe(404);
  });
});
