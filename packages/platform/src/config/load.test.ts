import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import {
  choice,
  defineConfig,
  describeConfig,
  documentConfig,
  integer,
  list,
  loadConfig,
  secret,
  url,
} from './index.ts';

const table = defineConfig('A test process', {
  port: integer({ env: 'TK_TEST_PORT', default: 8420, min: 1, max: 65_535, help: 'Where it listens.' }),
  leaseMs: integer({ env: 'TK_TEST_LEASE_MS', default: 3000, min: 100, max: 60_000, unit: 'ms', help: 'Lease.' }),
  store: url({ env: 'TK_TEST_STORE', schemes: ['postgres:'], help: 'The store.' }),
  pepper: secret({ env: 'TK_TEST_PEPPER', pattern: /^.{8,}$/, kind: 'at least 8 characters', help: 'The pepper.' }),
  mode: choice({ env: 'TK_TEST_MODE', words: ['calm', 'loud'], default: 'calm', help: 'The mode.' }),
  hosts: list({ env: 'TK_TEST_HOSTS', help: 'Hosts.' }),
});
const folder = mkdtempSync(join(tmpdir(), 'tk-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

const good = { TK_TEST_STORE: 'postgres://me:word@db/x', TK_TEST_PEPPER: 'long enough', TK_TEST_HOSTS: 'a, b,,c' };

describe('loadConfig', () => {
  it('reads, types and freezes', () => {
    const config = loadConfig(table, { ...good, TK_TEST_PORT: '1' });
    expect(config).toEqual({
      port: 1,
      leaseMs: 3000,
      store: 'postgres://me:word@db/x',
      pepper: 'long enough',
      mode: 'calm',
      hosts: ['a', 'b', 'c'],
    });
    expect(Object.isFrozen(config)).toBe(true);
  });

  it('names every wrong variable in one error', () => {
    const load = () =>
      loadConfig(table, {
        TK_TEST_PORT: '70000',
        TK_TEST_LEASE_MS: '1.5',
        TK_TEST_STORE: 'mysql://x',
        TK_TEST_MODE: 'odd',
      });
    expect(load).toThrow(expect.objectContaining({ code: 'config_invalid' }));
    for (const name of ['PORT', 'LEASE_MS', 'STORE', 'MODE', 'PEPPER']) expect(load).toThrow(`TK_TEST_${name} must`);
  });

  it('takes a secret from a file, and refuses two sources', () => {
    const path = join(folder, 'pepper');
    writeFileSync(path, 'from the file\n');
    const { TK_TEST_PEPPER: _, ...rest } = good;
    expect(loadConfig(table, { ...rest, TK_TEST_PEPPER_FILE: path }).pepper).toBe('from the file');
    expect(() => loadConfig(table, { ...good, TK_TEST_PEPPER_FILE: path })).toThrow('give one of them');
    expect(() => loadConfig(table, { ...rest, TK_TEST_PEPPER_FILE: join(folder, 'none') })).toThrow('ENOENT');
  });

  it('never repeats a secret, neither in an error nor in print', () => {
    expect(() => loadConfig(table, { ...good, TK_TEST_PEPPER: 'short' })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('short') }),
    );
    const shown = JSON.stringify(describeConfig(table, loadConfig(table, good)));
    expect(shown).not.toContain('word');
    expect(shown).not.toContain('long enough');
  });
});

describe('documentConfig', () => {
  it('lists every variable with its default and whether a file may hold it', () => {
    const page = documentConfig([table]);
    expect(page).toContain('| `TK_TEST_LEASE_MS` | whole number, 100–60000, ms | `3000` | Lease. |');
    expect(page).toContain('| `TK_TEST_PEPPER` or `…_FILE` | at least 8 characters | **required** | The pepper. |');
  });
});
