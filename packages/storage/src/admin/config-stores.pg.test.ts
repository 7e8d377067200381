import { type AgentDraft, formatId, hashApiToken, type TenantId } from '@turnkeeper/core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import {
  type ConfigStage,
  echoAgent,
  hookAccount,
  keyDraft,
  modelAgent,
  openConfigStage,
  PEPPER,
  tenantDraft,
} from '../testing/config-stage.ts';

let stage: ConfigStage;
beforeAll(async () => {
  stage = await openConfigStage(inject('urls'));
});
afterAll(() => stage.close());

const OPERATOR = { actor: 'operator:test' } as const;
const OWN = { actor: 'key:test', mustBeNew: true } as const;

function audits(tenantId: TenantId) {
  return stage.databases.admin.query<{ action: string; subject: string; actor: string; detail: unknown }>(
    {
      name: 'audits',
      text: 'select action, subject, actor, detail from tk.audit where tenant_id = $1 order by at, id',
    },
    [tenantId],
  );
}

function count(table: string, tenantId: TenantId) {
  const statement = { name: `count_${table}`, text: `select count(*)::int as n from tk.${table} where tenant_id = $1` };
  return stage.databases.admin.query<{ n: number }>(statement, [tenantId]);
}

describe('putTenant', () => {
  it('makes a tenant with all its parts and says so, then finds nothing to do', async () => {
    const draft = tenantDraft('whole', {
      keys: [keyDraft('ci', { token: `tk_wholekey1_${'A'.repeat(32)}` })],
      agents: [echoAgent('main'), modelAgent('gpt', { apiKey: 'sk-1' })],
      accounts: [hookAccount('deploys')],
    });
    const first = await stage.operator.putTenant(draft, OPERATOR);
    expect(first.changes.map(({ kind, name, result }) => `${result} ${kind} ${name}`)).toEqual([
      'created tenant whole',
      'created key ci',
      'created agent main',
      'created agent gpt',
      'created account deploys',
    ]);
    const again = await stage.operator.putTenant(draft, OPERATOR);
    expect(again.changes.map(({ result, fields }) => [result, fields])).toEqual(Array(5).fill(['unchanged', []]));
    expect(again.row).toEqual(first.row);
    expect(await audits(first.row.tenantId)).toHaveLength(5);
  });

  it('is all or nothing, and says which part is at fault', async () => {
    const faulty = tenantDraft('broken', {
      agents: [echoAgent('main')],
      accounts: [hookAccount('good'), hookAccount('bad', { agent: 'nobody' })],
    });
    await expect(stage.operator.putTenant(faulty, OPERATOR)).rejects.toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        fields: [expect.objectContaining({ pointer: '/accounts/1/agent', code: 'agent_not_found' })],
      }),
    );
    expect(await stage.operator.getTenant('broken')).toBeNull();
  });

  it('keeps a suspension that the body does not speak of', async () => {
    await stage.tenant('held', { status: 'suspended' });
    const { row, changes } = await stage.operator.putTenant(tenantDraft('held', { timeZone: 'Asia/Tokyo' }), {
      actor: 'operator:o',
    });
    expect(row.status).toBe('suspended');
    expect(changes[0]?.fields).toEqual([{ pointer: '/timeZone', before: 'UTC', after: 'Asia/Tokyo' }]);
  });

  it('makes one tenant when two make it at once', async () => {
    const puts = await Promise.all(
      Array.from({ length: 6 }, () =>
        stage.operator.putTenant(tenantDraft('raced', { agents: [modelAgent('main', { apiKey: 'k' })] }), OPERATOR),
      ),
    );
    expect(new Set(puts.map(({ row }) => row.tenantId)).size).toBe(1);
    const results = puts.flatMap(({ changes }) => changes.map(({ kind, result }) => `${kind} ${result}`));
    expect(results.filter((result) => result.endsWith('created')).sort()).toEqual(['agent created', 'tenant created']);
  });
});

describe('agents', () => {
  it('keep every version; the pointer moves and only what changed is told', async () => {
    const tenantId = await stage.tenant('versions');
    await stage.admin.putAgent(tenantId, echoAgent('main', 1), OPERATOR);
    const { row, change } = await stage.admin.putAgent(tenantId, echoAgent('main', 2), OPERATOR);
    expect(change).toEqual({
      kind: 'agent',
      name: 'main',
      result: 'updated',
      version: 2,
      fields: [{ pointer: '/echo/delayMs', before: 1, after: 2 }],
    });
    expect(row.version).toBe(2);
    expect(await count('agent_versions', tenantId)).toEqual([{ n: 2 }]);
    const versions = { name: 'meddle', text: 'update tk.agent_versions set config = $1 where tenant_id = $2' };
    await expect(stage.databases.api.query(versions, ['{}', tenantId])).rejects.toThrow();
  });

  it('never show a secret, keep one that is not given again, and name one that changed', async () => {
    const tenantId = await stage.tenant('secretive');
    await stage.admin.putAgent(tenantId, modelAgent('gpt', { apiKey: 'sk-first' }), OPERATOR);
    const kept = await stage.admin.putAgent(tenantId, modelAgent('gpt', {}), OPERATOR);
    expect(kept.change.result).toBe('unchanged');
    const changed = await stage.admin.putAgent(tenantId, modelAgent('gpt', { apiKey: 'sk-second' }), OPERATOR);
    expect(changed.change.fields).toEqual([{ pointer: '/secrets/apiKey' }]);
    expect(changed.row.secretNames).toEqual(['apiKey']);
    expect(JSON.stringify([changed, await audits(tenantId)])).not.toContain('sk-');
    const { agentId } = changed.row;
    expect(await (await stage.configs.agents.get(tenantId, agentId))?.secret('apiKey')).toBe('sk-second');
  });

  it('come one version after the other when several change one at once', async () => {
    const tenantId = await stage.tenant('crowded');
    const puts = await Promise.all(
      [1, 2, 3, 4, 5, 6].map((delayMs) => stage.admin.putAgent(tenantId, echoAgent('main', delayMs), OPERATOR)),
    );
    expect(puts.map(({ change }) => change.version).sort()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('made by their tenant twice are one; another of the same name is refused and changes nothing', async () => {
    const tenantId = await stage.tenant('selfmade');
    const made = await stage.own.putAgent(tenantId, echoAgent('bot', 5), OWN);
    const again = await stage.own.putAgent(tenantId, echoAgent('bot', 5), OWN);
    expect([made.change.result, again.change.result]).toEqual(['created', 'unchanged']);
    await expect(stage.own.putAgent(tenantId, echoAgent('bot', 6), OWN)).rejects.toThrow(
      expect.objectContaining({ code: 'cannot_change' }),
    );
    expect((await stage.own.getAgent(tenantId, 'bot'))?.version).toBe(1);
    expect(await audits(tenantId)).toContainEqual({
      actor: 'key:test',
      action: 'agent.created',
      subject: 'agent:bot',
      detail: { version: 1, fields: expect.any(Array) },
    });
  });
});

describe('accounts', () => {
  it('belong to an agent, which may change; their channel may not', async () => {
    const tenantId = await stage.tenant('hooked', { agents: [echoAgent('main'), echoAgent('other')] });
    const first = await stage.own.putAccount(tenantId, hookAccount('in'), OWN);
    expect(first.row).toMatchObject({ agentName: 'main', channel: 'webhook', secretNames: ['secret'], version: 1 });
    const other = await stage.admin.getAgent(tenantId, 'other');
    const moved = await stage.admin.putAccount(
      tenantId,
      hookAccount('in', { agent: formatId('agt', other?.agentId ?? '') }),
      OPERATOR,
    );
    expect(moved.change.fields).toEqual([{ pointer: '/agent', before: 'main', after: 'other' }]);
    expect(moved.row).toMatchObject({ agentName: 'other', version: 2, accountId: first.row.accountId });
    await expect(stage.admin.putAccount(tenantId, hookAccount('in', { channel: 'slack' }), OPERATOR)).rejects.toThrow(
      expect.objectContaining({ code: 'cannot_change' }),
    );
  });
});

describe('a reference that is neither name nor id', () => {
  it.each(['\u0000', 'a\u0000', 'A', 'é', ''])('%j names nothing, and is asked of no database', async (reference) => {
    const tenantId = await stage.tenant('referred');
    const found = [
      await stage.own.getAgent(tenantId, reference),
      await stage.own.getAccount(tenantId, reference),
      await stage.operator.getTenant(reference),
      await stage.ownKeys.getKey(tenantId, reference),
    ];
    expect(found).toEqual([null, null, null, null]);
  });
});

describe('keys', () => {
  it('without a token get one, shown once; the stored hash is that of the whole token', async () => {
    const tenantId = await stage.tenant('keyed');
    const made = await stage.operator.putKey(tenantId, keyDraft('ci'), { actor: 'operator:test' });
    expect(made.token).toMatch(/^tk_[a-z0-9]{16}_[a-z0-9]{48}$/);
    const again = await stage.operator.putKey(tenantId, keyDraft('ci'), { actor: 'operator:test' });
    expect([again.change.result, again.token]).toEqual(['unchanged', null]);
    const found = await stage.configs.keys.find('tenant', made.row.keyId);
    expect(found).toMatchObject({ tenantId, revokedAt: null });
    expect(Buffer.from(found?.hash ?? [])).toEqual(Buffer.from(hashApiToken(PEPPER, made.token ?? '')));
    expect(JSON.stringify(await audits(tenantId))).not.toContain(Buffer.from(found?.hash ?? []).toString('hex'));
  });

  it('can be revoked, put back, exchanged, and given other scopes', async () => {
    const tenantId = await stage.tenant('rekeyed');
    const draft = keyDraft('ci', { token: `tk_rekeyed01_${'B'.repeat(40)}` });
    const { row } = await stage.operator.putKey(tenantId, draft, { actor: 'operator:test' });
    const revoked = await stage.operator.putKey(tenantId, { ...draft, revoked: true }, { actor: 'operator:test' });
    expect(revoked.row.revokedAt).toBeInstanceOf(Date);
    expect(revoked.change.fields).toEqual([{ pointer: '/revoked', before: false, after: true }]);
    const next = { ...draft, token: `tk_rekeyed02_${'C'.repeat(40)}`, scopes: ['runs:read'] as const, preset: null };
    const exchanged = await stage.operator.putKey(tenantId, next, { actor: 'operator:test' });
    expect(exchanged.row).toMatchObject({ id: row.id, keyId: 'rekeyed02', revokedAt: null, scopes: ['runs:read'] });
    expect(exchanged.change.fields[0]).toEqual({ pointer: '/secret' });
    expect(await stage.configs.keys.find('tenant', 'rekeyed01')).toBeNull();
  });

  it('take the meaning that their preset has now', async () => {
    const tenantId = await stage.tenant('outdated');
    await stage.operator.putKey(tenantId, { ...keyDraft('k'), scopes: ['runs:read'] }, { actor: 'operator:test' });
    const { change, row } = await stage.operator.putKey(tenantId, keyDraft('k'), { actor: 'operator:test' });
    expect(change.fields).toEqual([{ pointer: '/scopes', before: ['runs:read'] }]);
    expect(row.scopes).toHaveLength(10);
  });

  it('are one when several make it at once, and its token is shown by one of them', async () => {
    const tenantId = await stage.tenant('key-race');
    const puts = await Promise.all(
      Array.from({ length: 6 }, () => stage.operator.putKey(tenantId, keyDraft('ci'), { actor: 'operator:test' })),
    );
    expect(new Set(puts.map(({ row }) => row.keyId)).size).toBe(1);
    expect(puts.map(({ change }) => change.result).sort()).toEqual(['created', ...Array(5).fill('unchanged')]);
    expect(puts.filter(({ token }) => token !== null)).toHaveLength(1);
  });

  it('cannot take the id of another key, not even of another tenant', async () => {
    const [one, two] = [await stage.tenant('key-one'), await stage.tenant('key-two')];
    await stage.operator.putKey(one, keyDraft('a', { token: `tk_samekeyid_${'D'.repeat(40)}` }), {
      actor: 'operator:test',
    });
    const clash = keyDraft('b', { token: `tk_samekeyid_${'E'.repeat(40)}` });
    await expect(stage.operator.putKey(two, clash, { actor: 'operator:test' })).rejects.toThrow(
      expect.objectContaining({ code: 'config_invalid', fields: [{ pointer: '/secret', code: 'config_invalid' }] }),
    );
    expect((await stage.ownKeys.listKeys(two, { limit: 10 })).rows).toEqual([]);
  });

  it('of operators are found on their own side only', async () => {
    const insert = {
      name: 'operator',
      text: "insert into tk.operator_keys values (gen_random_uuid(), $1, 'root', $2)",
    };
    await stage.databases.admin.query(insert, ['operator1', hashApiToken(PEPPER, `tkop_operator1_${'F'.repeat(40)}`)]);
    expect(await stage.configs.keys.find('operator', 'operator1')).toMatchObject({ tenantId: null });
    expect(await stage.configs.keys.find('tenant', 'operator1')).toBeNull();
  });
});

describe('lists', () => {
  it('lead through all rows by name, page after page', async () => {
    const names = ['a', 'b', 'c', 'd', 'e'];
    const tenantId = await stage.tenant('listed', {
      agents: [echoAgent('main'), ...names.map((name): AgentDraft => echoAgent(name))],
      accounts: names.map((name) => hookAccount(name)),
      keys: names.map((name) => keyDraft(name)),
    });
    const all = async (
      list: (cursor?: string) => Promise<{ rows: readonly { name: string }[]; nextCursor: string | null }>,
    ) => {
      const seen: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await list(cursor);
        seen.push(...page.rows.map(({ name }) => name));
        if (page.nextCursor === null) return seen.join('');
        cursor = page.nextCursor;
      }
    };
    expect(await all((cursor) => stage.own.listAgents(tenantId, { limit: 2, cursor }))).toBe('abcdemain');
    expect(await all((cursor) => stage.own.listAccounts(tenantId, { limit: 5, cursor }))).toBe('abcde');
    expect(await all((cursor) => stage.ownKeys.listKeys(tenantId, { limit: 1, cursor }))).toBe('abcde');
    expect(await all((cursor) => stage.operator.listTenants({ limit: 3, cursor }))).toContain('listed');
  });
});

describe('another tenant', () => {
  it('is answered like one that never was, by name and by id, by every read and write', async () => {
    const mine = await stage.tenant('mine', { agents: [echoAgent('main')] });
    const theirs = await stage.tenant('theirs', {
      agents: [echoAgent('spy')],
      accounts: [hookAccount('tap', { agent: 'spy' })],
    });
    const agent = await stage.admin.getAgent(theirs, 'spy');
    const account = await stage.admin.getAccount(theirs, 'tap');
    const agentRef = formatId('agt', agent?.agentId ?? '');
    for (const store of [stage.own, stage.admin]) {
      for (const reference of ['spy', agentRef]) {
        expect(await store.getAgent(mine, reference)).toBeNull();
        await expect(store.putAccount(mine, hookAccount('x', { agent: reference }), OPERATOR)).rejects.toThrow(
          expect.objectContaining({ code: 'config_invalid' }),
        );
      }
      for (const reference of ['tap', formatId('acc', account?.accountId ?? '')]) {
        expect(await store.getAccount(mine, reference)).toBeNull();
      }
      expect((await store.listAgents(mine, { limit: 50 })).rows.map(({ name }) => name)).toEqual(['main']);
      expect((await store.listAccounts(mine, { limit: 50 })).rows).toEqual([]);
    }
    const { agents, accounts } = stage.configs;
    expect(await agents.get(mine, agent?.agentId ?? agentRefId())).toBeNull();
    expect(await agents.byName(mine, 'spy')).toBeNull();
    expect(account && (await accounts.get(mine, account.accountId))).toBeNull();
    expect(await accounts.byName(mine, 'tap')).toBeNull();
  });

  function agentRefId(): never {
    throw new Error('the other tenant has its agent');
  }
});

describe('configs', () => {
  it('are at most 5 s old: a change, a suspension and a revocation show', async () => {
    const token = `tk_freshness1_${'G'.repeat(40)}`;
    const tenantId = await stage.tenant('fresh', { agents: [echoAgent('main', 1)], keys: [keyDraft('k', { token })] });
    const { tenants, agents, keys } = stage.configs;
    const delayMs = async () => {
      const runtime = (await agents.byName(tenantId, 'main'))?.runtime;
      return runtime?.kind === 'echo' ? runtime.delayMs : null;
    };
    const seen = async () => [
      await delayMs(),
      (await tenants.byName('fresh'))?.status,
      (await keys.find('tenant', 'freshness1'))?.revokedAt === null,
    ];
    expect(await seen()).toEqual([1, 'active', true]);
    await stage.tenant('fresh', {
      status: 'suspended',
      agents: [echoAgent('main', 2)],
      keys: [keyDraft('k', { token, revoked: true })],
    });
    await stage.clock.advance(4_999);
    await seen();
    await stage.clock.advance(1);
    expect(await seen()).toEqual([2, 'suspended', false]);
  });

  it('find a thing that is made a moment after it was missed', async () => {
    const tenantId = await stage.tenant('late');
    expect(await stage.configs.agents.byName(tenantId, 'main')).toBeNull();
    await stage.own.putAgent(tenantId, echoAgent('main'), OWN);
    await stage.clock.advance(1_000);
    expect((await stage.configs.agents.byName(tenantId, 'main'))?.name).toBe('main');
  });

  it('tell whose account a webhook names, with its secrets', async () => {
    const tenantId = await stage.tenant('located', { agents: [echoAgent('main')], accounts: [hookAccount('in')] });
    const account = await stage.configs.accounts.byName(tenantId, 'in');
    expect(account && (await stage.configs.accounts.locate(account.accountId))).toBe(tenantId);
    expect(await account?.secret('secret')).toBe('s1');
    expect(await account?.secret('toString')).toBeNull();
  });

  it('move lastUsedAt of a key that let somebody in', async () => {
    const tenantId = await stage.tenant('used', { keys: [keyDraft('k', { token: `tk_usedkey01_${'H'.repeat(40)}` })] });
    const record = await stage.configs.keys.find('tenant', 'usedkey01');
    if (record) stage.configs.keys.noteUse(record);
    await expect
      .poll(async () => (await stage.ownKeys.getKey(tenantId, 'k'))?.lastUsedAt, { timeout: 5_000 })
      .toBeInstanceOf(Date);
  });
});

describe('putTenant with options', () => {
  it('that only tries says what would happen, and leaves nothing', async () => {
    const draft = tenantDraft('tried', { keys: [keyDraft('ci')], agents: [echoAgent('main')] });
    const tried = await stage.operator.putTenant(draft, { ...OPERATOR, dryRun: true });
    expect(tried.changes.map(({ result }) => result)).toEqual(['created', 'created', 'created']);
    expect(tried.tokens.size).toBe(0);
    expect(await stage.operator.getTenant('tried')).toBeNull();
    const made = await stage.operator.putTenant(draft, OPERATOR);
    const changed = tenantDraft('tried', { agents: [echoAgent('main', 5)] });
    await stage.operator.putTenant(changed, { ...OPERATOR, dryRun: true, prune: ['keys'] });
    expect((await stage.admin.getAgent(made.row.tenantId, 'main'))?.version).toBe(1);
    expect(await audits(made.row.tenantId)).toHaveLength(3);
  });

  it('that prunes takes away what the lists do not name, and only of the lists that are asked for', async () => {
    const parts = {
      keys: [keyDraft('keep'), keyDraft('drop')],
      agents: [echoAgent('main'), echoAgent('second')],
      accounts: [hookAccount('a', { agent: 'second' })],
    };
    const tenantId = await stage.tenant('pruned', parts);
    const less = tenantDraft('pruned', { keys: [keyDraft('keep')], agents: [echoAgent('main')] });
    const first = await stage.operator.putTenant(less, { ...OPERATOR, prune: ['keys'] });
    expect(first.changes.filter(({ result }) => result === 'deleted').map(({ name }) => name)).toEqual(['drop']);
    expect((await stage.ownKeys.getKey(tenantId, 'drop'))?.revokedAt).not.toBeNull();
    await expect(stage.operator.putTenant(less, { ...OPERATOR, prune: ['agents'] })).rejects.toMatchObject({
      code: 'cannot_change',
    });
    await stage.operator.putTenant(less, { ...OPERATOR, prune: ['agents', 'accounts'] });
    expect(await stage.admin.getAgent(tenantId, 'second')).toBeNull();
    expect(await stage.admin.getAccount(tenantId, 'a')).toBeNull();
  });
});
