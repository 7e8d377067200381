import { createHash, randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { AppError, type Clock, type TenantConfigs } from '@turnkeeper/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Targets } from '../intake/targets.ts';
import { type ClientTokens, roomNames } from '../visitors/client-tokens.ts';
import { checkOrigin } from '../visitors/origins.ts';
import type { RateGate } from './rate-gate.ts';

export interface ChatPageParts {
  readonly chat: {
    /** Where the built page is. */
    readonly folder: string | undefined;
    /** `<tenant>.<account>` of the web chat that anybody may use; none: only who has a token. */
    readonly guests: string | undefined;
    /** Sources of `frame-ancestors`. */
    readonly frames: string;
    /** What a file may have at most: the page says so before it sends one in vain. */
    readonly fileBytesMax: number;
  };
  readonly tenants: Pick<TenantConfigs, 'byName'>;
  readonly targets: Pick<Targets, 'resolve'>;
  readonly clientTokens: Pick<ClientTokens, 'sign'>;
  readonly rates: Pick<RateGate, 'take'>;
  readonly clock: Clock;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};
const COOKIE = 'tk_guest';
const COOKIE_SECONDS = 365 * 24 * 3600;
const TOKEN_MS = 3600 * 1000;

/**
 * `/chat`: the chat page, if its folder was given. Every file is read once, at the start. The page may load nothing but
 * itself, and be framed only by whom the configuration names. `POST /chat/token` lets guests in, if they are let in at all.
 */
export function registerChatPage(app: FastifyInstance, parts: ChatPageParts): void {
  const { folder, frames, guests, fileBytesMax } = parts.chat;
  if (folder === undefined) return;
  const policy = contentPolicy(frames);
  for (const path of globSync('**/*.{html,js,css}', { cwd: folder })) {
    const bytes = readFileSync(join(folder, path));
    const file = fileOf(path, path === 'chat.html' ? withLimit(bytes, fileBytesMax) : bytes);
    const name = path === 'chat.html' ? '/chat' : `/chat/${relative('', path)}`;
    app.get(name, (request, reply) => sendFile(request, reply, { file, path, policy }));
  }
  if (guests !== undefined) app.post('/chat/token', (request, reply) => letIn(request, reply, { parts, guests }));
}

interface ChatFile {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  readonly etag: string;
}

/** The page as it was built has a place for it. */
function withLimit(page: Buffer, fileBytesMax: number): Buffer {
  const place = /(<meta name="turnkeeper-file-bytes-max" content=")(?=")/;
  return Buffer.from(page.toString().replace(place, `$1${fileBytesMax}`));
}

function fileOf(path: string, bytes: Buffer): ChatFile {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { type: TYPES[extname(path)] ?? 'application/octet-stream', bytes, gzipped: gzipSync(bytes), etag };
}

/** Only this server's own files; pictures that the page has fetched itself; no frames, no forms, no plugins. */
function contentPolicy(frames: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' blob: data:",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frames}`,
  ].join('; ');
}

function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, path, policy }: { readonly file: ChatFile; readonly path: string; readonly policy: string },
): FastifyReply {
  reply.headers({
    'content-type': file.type,
    'cache-control': cacheRule(path),
    'content-security-policy': policy,
    // the script that other pages embed
    'cross-origin-resource-policy': path === 'embed.js' ? 'cross-origin' : 'same-origin',
    etag: file.etag,
    'referrer-policy': 'no-referrer',
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
  });
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return reply.send(file.bytes);
  return reply.header('content-encoding', 'gzip').send(file.gzipped);
}

/** A name with a hash in it never changes what it means. */
function cacheRule(path: string): string {
  if (path.startsWith('assets/')) return 'public, max-age=31536000, immutable';
  return path === 'embed.js' ? 'public, max-age=300' : 'no-cache';
}

/**
 * A token for whoever opens the page. Who it is stands in a cookie that no script and no other site sees; the visitor's
 * name is made of it one way, so that whoever reads the name cannot become the visitor.
 */
async function letIn(
  request: FastifyRequest,
  reply: FastifyReply,
  { parts, guests }: { readonly parts: ChatPageParts; readonly guests: string },
): Promise<{ token: string; expiresAt: string }> {
  checkOrigin(request, null);
  const [tenantName = '', accountName = ''] = guests.split('.');
  const tenant = await parts.tenants.byName(tenantName);
  if (tenant?.status !== 'active') throw closed();
  await parts.rates.take(tenant, reply);
  const { agent, account } = await parts.targets.resolve(tenant.tenantId, { accountId: accountName });
  if (account?.channel !== 'webchat') throw closed();
  const secret = guestOf(request) ?? randomBytes(16).toString('hex');
  const sub = `guest_${createHash('sha256').update(secret).digest('hex').slice(0, 24)}`;
  const expiresAtMs = parts.clock.nowMs() + TOKEN_MS;
  const visitor = { kind: 'visitor', tenant, agent, account, sub, name: 'Guest', expiresAtMs } as const;
  const token = await parts.clientTokens.sign({ ...visitor, rooms: roomNames('self', sub) });
  const secure = request.headers.origin?.startsWith('https:') === true ? '; Secure' : '';
  const rules = `Path=/chat; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Strict${secure}`;
  reply.header('set-cookie', `${COOKIE}=${secret}; ${rules}`).header('cache-control', 'no-store');
  return { token, expiresAt: new Date(expiresAtMs).toISOString() };
}

function guestOf({ headers }: FastifyRequest): string | null {
  return new RegExp(`(?:^|;\\s*)${COOKIE}=([0-9a-f]{32})(?:;|$)`).exec(headers.cookie ?? '')?.[1] ?? null;
}

function closed(): AppError {
  return new AppError({ code: 'account_not_found', message: 'no such web chat account' });
}
