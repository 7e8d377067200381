import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Functions that the adapters call. */
function calledBySuite(): string[] {
  const adapters = globSync('test/conformance/src/adapters/*.ts', { cwd: ROOT }).map(read).join('\n');
  const imports = [...adapters.matchAll(/import \{([^}]*)\} from '@turnkeeper\/core'/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  );
  return imports.filter((name) => name !== '' && !name.startsWith('type '));
}

/** Calls in the product itself; the definition is none. */
function callsInProduct(name: string, sources: readonly string[]): number {
  const call = new RegExp(`(?<!function )\\b${name}(<[^(]*>)?\\(`, 'g');
  return sources.reduce((sum, source) => sum + [...source.matchAll(call)].length, 0);
}

describe('functions that the suite calls', () => {
  const ahead: Record<string, string> = JSON.parse(read('test/conformance/ahead.json'));
  const sources = globSync('{packages,services}/*/src/**/*.ts', { cwd: ROOT })
    .filter((path) => !path.endsWith('.test.ts'))
    .map(read);

  it.each(calledBySuite())('%s is called by the product, or ahead.json says what will call it', (name) => {
    expect(callsInProduct(name, sources) > 0).toBe(ahead[name] === undefined);
  });

  it('are all that ahead.json names', () => {
    expect(calledBySuite()).toEqual(expect.arrayContaining(Object.keys(ahead)));
  });
});
