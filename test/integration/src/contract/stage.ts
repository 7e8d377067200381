import { randomBytes } from 'node:crypto';
import { type Cluster, until } from '@turnkeeper/test-harness';

const HOOK = { channel: 'webhook', options: { template: '{{text}}' }, secrets: { secret: 'hook-secret' } };

/** A tenant with one of everything, by which paths and bodies of the document can be filled. */
export interface Stage {
  readonly tenant: string;
  readonly key: string;
  /** By the name that the document gives the parameter or the field. */
  readonly ids: Readonly<Record<string, string>>;
  /** What stands for some of the ids. */
  readonly names: Readonly<Record<string, string>>;
}

/** Makes the tenant, and runs a turn of it to its end. */
export async function buildStage(cluster: Cluster, tenant = `stage-${randomBytes(4).toString('hex')}`): Promise<Stage> {
  const spare = `spare-${tenant}`;
  const names = { agent: `agent-${tenant}`, account: `account-${tenant}`, key: `key-${tenant}` };
  const key = await cluster.putTenant({
    name: tenant,
    agents: [{ name: names.agent, runtime: 'echo' }],
    accounts: [
      { name: names.account, agent: names.agent, ...HOOK },
      { name: `chat-${tenant}`, agent: names.agent, channel: 'webchat' },
    ],
  });
  const sessionKey = `talk-${tenant}`;
  const sent = await cluster.api('/v1/messages', { key, body: { agentId: names.agent, sessionKey, text: 'hi' } });
  const { runId, eventId } = sent.json;
  const ended = await until('the first turn has ended', async () => {
    const { json } = await cluster.api(`/v1/runs/${runId}?wait=5`, { key });
    return json.status === 'ok' && json;
  });
  const viewer = await cluster.api('/v1/keys', { key, body: { name: names.key, preset: 'viewer' } });
  await cluster.putTenant({ name: spare });
  const sends = await cluster.api('/v1/deliveries', { key });
  const idOf = async (path: string) => (await cluster.api(path, { key })).json.id as string;
  return {
    ...{ tenant, key, names: { ...names, session: sessionKey, sessionId: sessionKey } },
    ids: {
      ...{ runId, eventId, sessionKey, sessionId: ended.sessionId, tenant, spare },
      ...{
        key: viewer.json.id,
        agent: await idOf(`/v1/agents/${names.agent}`),
        account: await idOf(`/v1/accounts/${names.account}`),
      },
      deliveryId: sends.json.data[0].deliveryId,
      inputId: `inp${runId.slice('run'.length)}`,
    },
  };
}

/** What stands for the parameter of a path; undefined for those that this stage has nothing for. */
export function pathValue(path: string, name: string, { ids }: Stage): string | undefined {
  // nothing of it is needed by the next request
  if (name === 'tenant') return ids['spare'];
  if (name !== 'id') return ids[name === 'session' ? 'sessionId' : name];
  if (path.startsWith('/v1/runs/')) return ids['runId'];
  if (path.startsWith('/v1/events/')) return ids['eventId'];
  if (path.startsWith('/v1/inputs/')) return ids['inputId'];
  if (path.startsWith('/v1/deliveries/')) return ids['deliveryId'];
  return undefined;
}

/** Makes again what deletions took: the agent, its account, its key and its conversation. */
export async function refreshStage(cluster: Cluster, { key, names, ids }: Stage): Promise<void> {
  const agent = names['agent'];
  await cluster.api('/v1/agents', { key, body: { name: agent, runtime: 'echo' } });
  await cluster.api('/v1/accounts', { key, body: { name: names['account'], agent, ...HOOK } });
  await cluster.api('/v1/messages', { key, body: { agentId: agent, sessionKey: ids['sessionKey'], text: 'again' } });
  await cluster.admin(`/admin/v1/tenants/${ids['spare']}`, { method: 'PUT', body: {} });
}
