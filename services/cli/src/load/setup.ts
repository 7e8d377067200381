import { randomBytes } from 'node:crypto';
import { AppError } from '@turnkeeper/core';
import { request } from 'undici';
import { SIGNED_WEBHOOK } from './signed-webhook.ts';

const SETUP_TIMEOUT_MS = 15_000;

/** One tenant's side of a load run. */
export interface LoadTarget {
  readonly apiKey: string;
  readonly agent: string;
  readonly account: string;
}

export interface SetupOptions {
  readonly url: string;
  readonly key: string;
  /** With an operator key and more than one tenant, the tenants are made here. */
  readonly tenants: number;
  readonly operator: { readonly url: string; readonly key: string } | null;
  readonly replyUrl: string;
  readonly secret: string;
  readonly delayMs: number;
}

/** Makes an echo agent `load-<random>` and a webhook account for each tenant. @throws AppError with the server's code when it refuses */
export async function setUp(options: SetupOptions): Promise<LoadTarget[]> {
  const keys = options.tenants > 1 ? await makeTenants(options) : [options.key];
  const targets: LoadTarget[] = [];
  for (const apiKey of keys) {
    const agent = `load-${randomBytes(5).toString('hex')}`;
    await call(
      { method: 'POST', url: `${options.url}/v1/agents`, key: apiKey },
      {
        name: agent,
        runtime: 'echo',
        echo: { delayMs: options.delayMs, fail: 0 },
      },
    );
    await call(
      { method: 'POST', url: `${options.url}/v1/accounts`, key: apiKey },
      {
        name: agent,
        agent,
        channel: 'webhook',
        options: { ...SIGNED_WEBHOOK, replyUrl: options.replyUrl },
        secrets: { secret: options.secret },
      },
    );
    targets.push({ apiKey, agent, account: agent });
  }
  return targets;
}

async function makeTenants(options: SetupOptions): Promise<string[]> {
  if (options.operator === null)
    throw new AppError({
      code: 'missing_field',
      message: '--tenants needs --operator-key (or a cluster started by `turnkeeper up`)',
    });
  const run = randomBytes(4).toString('hex');
  const keys: string[] = [];
  for (let i = 0; i < options.tenants; i++) {
    const apiKey = `tk_${randomBytes(8).toString('hex')}_${randomBytes(24).toString('hex')}`;
    await call(
      { method: 'PUT', url: `${options.operator.url}/admin/v1/tenants/load-${run}-${i}`, key: options.operator.key },
      {
        name: `load-${run}-${i}`,
        limits: { queuedPerLane: 100_000, queuedPerTenant: 1_000_000, turnSlots: 5000 },
        keys: [{ name: 'load', secret: apiKey, preset: 'owner' }],
      },
    );
    keys.push(apiKey);
  }
  return keys;
}

interface Call {
  readonly method: 'POST' | 'PUT';
  readonly url: string;
  readonly key: string;
}

async function call({ method, url, key }: Call, body: unknown): Promise<void> {
  const response = await request(url, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    headersTimeout: SETUP_TIMEOUT_MS,
    bodyTimeout: SETUP_TIMEOUT_MS,
  });
  const text = await response.body.text();
  if (response.statusCode >= 300) {
    throw new AppError({
      code: 'config_invalid',
      message: `${method} ${new URL(url).pathname} answered ${response.statusCode}: ${text.slice(0, 300)}`,
    });
  }
}
