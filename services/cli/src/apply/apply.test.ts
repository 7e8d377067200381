import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { readDocument } from './apply-file.ts';
import { ConfigFile } from './config-file.ts';
import { showChanges } from './show-changes.ts';

const folder = mkdtempSync(join(tmpdir(), 'tk-apply-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'hook.key'), 'from-a-file\n');

const GOOD = `apiVersion: turnkeeper/v1
tenants:
  - name: acme
    limits: { ratePerSecond: 50, burst: 200, turnSlots: 20, queuedPerLane: 100, queuedPerTenant: 10000 }
    timeZone: Europe/Berlin
    keys: [{ name: ci, secret: { valueFrom: { env: ACME_KEY } }, preset: developer }]
    agents:
      - { name: main, runtime: echo, echo: { delayMs: 0, fail: 0 }, keyPolicy: standard, busy: { mode: queue } }
      - name: gpt
        runtime: openai
        openai: { baseUrl: "http://127.0.0.1:9/v1", model: m, apiKey: { valueFrom: { env: KEY } } }
        system: "You are …"
    accounts:
      - name: deploys
        agent: main
        channel: webhook
        options: { verify: hmac-sha256-header, header: x-hub-signature-256 }
        secrets: { secret: { valueFrom: { file: hook.key } } }
`;

const environment = { ACME_KEY: `tk_acmekey01_${'A'.repeat(32)}`, KEY: 'sk-1' };

async function read(text: string, over: { allowInline?: boolean; environment?: Record<string, string> } = {}) {
  return readDocument(new ConfigFile('x.yaml', text), { environment, folder, allowInline: false, ...over });
}

async function faultsOf(text: string, over = {}): Promise<string[]> {
  try {
    await read(text, over);
  } catch (error) {
    return error instanceof Error ? error.message.split('\n') : [String(error)];
  }
  return [];
}

describe('a file', () => {
  it('like that of the manual is read, with its secrets from the environment and from files', async () => {
    const [tenant] = (await read(GOOD)).tenants;
    expect(tenant?.keys?.[0]?.secret).toBe(environment.ACME_KEY);
    expect(tenant?.agents?.[1]?.openai?.apiKey).toBe('sk-1');
    expect(tenant?.accounts?.[0]?.secrets).toEqual({ secret: 'from-a-file' });
  });

  it('that is no YAML is refused by line', async () => {
    expect(await faultsOf('apiVersion: turnkeeper/v1\ntenants: [\n  oh: no: really\n')).toContainEqual(
      expect.stringMatching(/^x\.yaml:3: /),
    );
    expect(await faultsOf('a: 1\na: 2\n')).toEqual([expect.stringMatching(/^x\.yaml:2: .*unique/)]);
  });

  it('whose aliases name nothing, themselves, or too much is refused by line', async () => {
    const head = 'apiVersion: turnkeeper/v1\ntenants:\n';
    expect(await faultsOf(`${head}  - *b\n`)).toEqual(['x.yaml:3: there is no anchor of the name b']);
    expect(await faultsOf(`${head}  - &a\n    name: [*a]\n`)).toEqual([
      'x.yaml:4: the alias a stands within what it names',
    ]);
    const bomb = [...'bcdefg'].map((name, i) => `${name}: &${name} [${`*${'abcdef'[i]},`.repeat(9)}]`).join('\n');
    expect(await faultsOf(`a: &a [x,x]\n${bomb}\n`)).toEqual([expect.stringMatching(/^x\.yaml:1: .*too much/)]);
    const merged = `${head}  - &a { name: one, timeZone: UTC }\n  - { <<: *a, name: two }\n`;
    expect((await read(merged)).tenants).toEqual([
      { name: 'one', timeZone: 'UTC' },
      { name: 'two', timeZone: 'UTC' },
    ]);
  });

  it.each([
    ['tabs', 'tenants:\n\t- name: a\n', 2],
    ['a quote without end', 'tenants:\n  - name: "a\n', 3],
    ['two documents', 'tenants: []\n---\ntenants: []\n', 2],
    ['a tag of its own', 'tenants: !!python/object []\n', 1],
    ['a word', 'hello\n', 1],
    ['a map for a list', 'apiVersion: turnkeeper/v1\ntenants: { name: a }\n', 2],
    ['nothing for a list', 'apiVersion: turnkeeper/v1\ntenants:\n', 2],
    ['a number for a name', 'apiVersion: turnkeeper/v1\ntenants:\n  - name: 12\n', 3],
    ['a list for a name of a field', 'apiVersion: turnkeeper/v1\ntenants:\n  - name: a\n    ? [a, b]\n    : c\n', 3],
    ['a prototype', 'apiVersion: turnkeeper/v1\ntenants:\n  - name: a\n    __proto__: { a: 1 }\n', 4],
    ['no such time zone', 'apiVersion: turnkeeper/v1\ntenants:\n  - name: a\n    timeZone: Mars/Olympus\n', 4],
    ['a pit of brackets', `a: ${'['.repeat(20_000)}\n`, 1],
  ])('that holds %s is refused by line', async (...[, text, line]) => {
    const faults = await faultsOf(text);
    expect(faults.length).toBeGreaterThan(0);
    expect(faults.length).toBeLessThanOrEqual(51);
    expect(faults[0]).toMatch(new RegExp(`^x\\.yaml:${line}: `));
  });

  it('is told every fault at once, each with its line and its place', async () => {
    const faults = await faultsOf(`apiVersion: turnkeeper/v1
tenants:
  - name: Acme
    colour: red
    agents:
      - name: main
        runtime: echo
        busy:
          mode: collect
      - runtime: echo
    keys:
      - name: k
`);
    expect(faults).toEqual([
      expect.stringMatching(/^x\.yaml:3: tenants\.0\.name: a name is/),
      'x.yaml:4: tenants.0.colour: no such field',
      expect.stringMatching(/^x\.yaml:9: tenants\.0\.agents\.0\.busy\.mode: the only busy mode so far is queue/),
      expect.stringMatching(/^x\.yaml:10: tenants\.0\.agents\.1\.name: /),
      expect.stringMatching(/^x\.yaml:12: tenants\.0\.keys\.0\.preset: give either preset or scopes/),
    ]);
  });

  it("is told what its accounts' channels refuse, beside faults of other kinds", async () => {
    const faults = await faultsOf(`apiVersion: turnkeeper/v1
tenants:
  - name: Acme
    accounts:
      - { name: a, channel: telegram }
      - name: b
        channel: webhook
        options: { verify: none }
      - name: c
        channel: webhook
        options: { verify: hmac-sha256-header, toleranceSec: 5 }
        secrets: { token: { valueFrom: { env: KEY } } }
      - { name: d, channel: webhook }
`);
    expect(faults).toEqual([
      expect.stringMatching(/^x\.yaml:3: tenants\.0\.name: a name is/),
      'x.yaml:5: tenants.0.accounts.0.channel: no such channel; there is webhook, webchat',
      'x.yaml:8: tenants.0.accounts.1.options.verify: must be standard-webhooks or hmac-sha256-header',
      'x.yaml:11: tenants.0.accounts.2.options.header: is missing',
      'x.yaml:11: tenants.0.accounts.2.options.toleranceSec: no such option for this way to verify',
      'x.yaml:12: tenants.0.accounts.2.secrets.token: the secrets are secret and replySecret',
    ]);
  });

  it('that names a thing twice, or no runtime, is told so', async () => {
    const faults = await faultsOf(`apiVersion: turnkeeper/v1
tenants:
  - name: acme
    agents:
      - { name: main, runtime: echo }
      - { name: main, runtime: echo }
  - name: beta
    agents:
      - { name: main }
  - name: acme
`);
    expect(faults).toEqual([
      'x.yaml:6: tenants.0.agents.1.name: this name stands twice in the list',
      'x.yaml:9: tenants.1.agents.0.runtime: is missing: one of echo, openai',
    ]);
    const repeated = await faultsOf(`apiVersion: turnkeeper/v1
tenants:
  - name: acme
    agents:
      - { name: main, runtime: echo }
      - { name: main, runtime: echo }
  - name: acme
`);
    expect(repeated).toEqual([
      'x.yaml:6: tenants.0.agents.1.name: this name stands twice in the list',
      'x.yaml:7: tenants.1.name: this name stands twice in the list',
    ]);
  });

  it('with a secret in it is refused, unless that is allowed; and never repeats it', async () => {
    const inline = GOOD.replace('{ valueFrom: { env: KEY } }', 'sk-inline');
    const faults = await faultsOf(inline);
    expect(faults).toEqual([
      expect.stringMatching(/^x\.yaml:11: tenants\.0\.agents\.1\.openai\.apiKey: .*--allow-inline/),
    ]);
    expect(faults.join()).not.toContain('sk-inline');
    expect((await read(inline, { allowInline: true })).tenants[0]?.agents?.[1]?.openai?.apiKey).toBe('sk-inline');
  });

  it('with a query in the address of a model, which may be a secret, is refused and does not repeat it', async () => {
    const faults = await faultsOf(GOOD.replace('127.0.0.1:9/v1', '127.0.0.1:9/v1?key=sk-query'));
    expect(faults).toEqual([
      expect.stringMatching(/^x\.yaml:11: tenants\.0\.agents\.1\.openai\.baseUrl: no query in it/),
    ]);
    expect(faults.join()).not.toContain('sk-query');
  });

  it('names each secret that cannot be found', async () => {
    const faults = await faultsOf(GOOD.replace('hook.key', 'none.key'), { environment: { KEY: 'sk-1' } });
    expect(faults).toEqual([
      'x.yaml:6: tenants.0.keys.0.secret: the variable ACME_KEY is not set',
      'x.yaml:18: tenants.0.accounts.0.secrets.secret: the file none.key cannot be read, or is empty',
    ]);
  });

  it('that is empty, a list or of another version is refused', async () => {
    for (const text of ['', '[]', 'apiVersion: turnkeeper/v2\ntenants: []']) {
      expect(await faultsOf(text)).toEqual([expect.stringMatching(/^x\.yaml:1: /)]);
    }
    expect(await faultsOf('')).toEqual(['x.yaml:1: the file: must be an object']);
  });
});

describe('showChanges', () => {
  it('shows what is new and what became of what, and keeps secrets to itself', () => {
    const lines = showChanges([
      {
        tenant: 'acme',
        changes: [
          { kind: 'tenant', name: 'acme', result: 'unchanged', version: 1, fields: [] },
          {
            kind: 'key',
            name: 'ci',
            result: 'created',
            secret: 'tk_x',
            fields: [{ pointer: '/preset', after: 'owner' }],
          },
          {
            ...{ kind: 'agent', name: 'main', result: 'updated', version: 2 },
            fields: [{ pointer: '/echo/delayMs', before: 0, after: 7 }, { pointer: '/secrets/apiKey' }],
          },
        ],
      },
      { tenant: 'same', changes: [{ kind: 'tenant', name: 'same', result: 'unchanged', version: 1, fields: [] }] },
    ]);
    expect(lines.map(stripVTControlCharacters)).toEqual([
      'acme',
      '  + key ci',
      '      tk_x  shown this once',
      '      preset: "owner"',
      '  ~ agent main v2',
      '    - echo.delayMs: 0',
      '    + echo.delayMs: 7',
      '      secrets.apiKey: (another secret)',
      '1 created, 1 updated, 2 unchanged',
    ]);
  });
});
