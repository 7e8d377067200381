import { AppError } from '@turnkeeper/core';
import { loadConfig } from '@turnkeeper/platform/config';
import { TenantSchema } from '@turnkeeper/protocol';
import { callApi } from '../api.ts';
import { demoTable } from '../config.ts';
import { SIGNED_WEBHOOK } from '../load/signed-webhook.ts';
import type { UpSecrets } from './secrets.ts';

export const DEMO_TENANT = 'demo';
export const DEMO_HOOK = 'demo-hook';
/** The web chat of pages that this server serves itself. */
export const DEMO_CHAT = 'demo-chat';

/** Queues and slots of a machine that is there for trying things out under load. */
const LIMITS = { turnSlots: 5000, queuedPerLane: 100_000, queuedPerTenant: 100_000 };

/** An operator's door. */
export interface Admin {
  readonly url: string;
  readonly key: string;
}

/**
 * Makes the demo tenant if it is absent, and otherwise leaves it as it is, but for two things that this start needs:
 * its key must open it, and the agent `llm` uses the model that the environment names now.
 * @returns the agents that one may talk to
 */
export async function ensureDemoTenant(from: {
  readonly admin: Admin;
  readonly publicUrl: string;
  readonly secrets: UpSecrets;
}): Promise<string[]> {
  const { admin, publicUrl, secrets } = from;
  const llm = llmAgent();
  const put = (body: object) => callApi({ ...admin, method: 'PUT', path: PATH, body });
  const present = await readTenant(admin);
  if (!present) await put(llm ? withAgent(demoTenant(secrets), llm) : demoTenant(secrets));
  else {
    const keys = (await opens(publicUrl, secrets.apiKey)) ? [] : [ownerKey(secrets)];
    if (llm || keys.length > 0) await put({ ...present, keys, agents: llm ? [llm] : [] });
  }
  return llm ? ['main', 'llm'] : ['main'];
}

const PATH = `/admin/v1/tenants/${DEMO_TENANT}`;

/** What a PUT must repeat so that it stays. */
async function readTenant(admin: Admin) {
  try {
    const { limits, timeZone } = TenantSchema.parse(await callApi({ ...admin, path: PATH }));
    return { limits, timeZone };
  } catch (err) {
    if (err instanceof AppError && err.code === 'not_found') return null;
    throw err;
  }
}

async function opens(url: string, key: string): Promise<boolean> {
  try {
    await callApi({ url, key, path: '/v1/agents?limit=1' });
    return true;
  } catch (err) {
    if (err instanceof AppError && err.code === 'unauthenticated') return false;
    throw err;
  }
}

function demoTenant(secrets: UpSecrets) {
  return {
    limits: LIMITS,
    keys: [ownerKey(secrets)],
    agents: [{ name: 'main', runtime: 'echo', echo: { wordMs: 30 } }],
    accounts: [
      {
        name: DEMO_HOOK,
        agent: 'main',
        channel: 'webhook',
        options: SIGNED_WEBHOOK,
        secrets: { secret: secrets.hookSecret },
      },
      { name: DEMO_CHAT, agent: 'main', channel: 'webchat' },
    ],
  };
}

function withAgent(tenant: ReturnType<typeof demoTenant>, agent: object) {
  return { ...tenant, agents: [...tenant.agents, agent] };
}

function ownerKey(secrets: UpSecrets) {
  return { name: 'up', secret: secrets.apiKey, preset: 'owner' };
}

function llmAgent() {
  const { baseUrl, model, apiKey } = loadConfig(demoTable);
  if (baseUrl === undefined) return null;
  return { name: 'llm', runtime: 'openai', openai: { baseUrl, model, ...(apiKey === undefined ? {} : { apiKey }) } };
}
