import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { KEY_PRESETS, SCOPES, type Scope, scopesOf } from '@turnkeeper/core';
import { describe, expect, it } from 'vitest';
import { trackedFiles } from './tracked-files.ts';

const DOCUMENTS = trackedFiles(['*.md', 'docs/**/*.md']).filter((path) => !path.startsWith('.changeset/'));
const REPOSITORY_PATH = /^(packages|services|test|scripts|docs|deploy|\.ci|\.changeset)\/[^\s*<>{}…]+$/;
const PROTOCOL_MAP = 'docs/protocol-map.md';

describe('documents', () => {
  it.for(DOCUMENTS)('%s names only files that exist', (path) => {
    expect([...namedPaths(path), ...linkedPaths(path)].filter((named) => !existsSync(named))).toEqual([]);
  });

  it('the map of the protocol names only functions that exist, in the files it says', () => {
    const named = mappedFunctions(readFileSync(PROTOCOL_MAP, 'utf8'));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ file, name }) => !declares(file, name))).toEqual([]);
  });

  it('the map of the protocol has every step of it', () => {
    const steps = [...readFileSync(PROTOCOL_MAP, 'utf8').matchAll(/^\| \*\*([\w-]+)\*\* \|/gm)].map(
      (match) => match[1],
    );
    expect(steps).toEqual([
      ...['accept', 'activate', 'receive', 'own', 'lock', 'claim', 'act', 'append', 'commit', 'hand-back', 'continue'],
      ...['release', 'control', 'poll', 'heartbeat', 'declare', 'interrupt', 'leave', 'deliver'],
    ]);
  });

  it('the page of others’ faults names a test for each, and the test is there', () => {
    const rows = [...readFileSync('docs/field-faults.md', 'utf8').matchAll(/^\| (?!fault \||---)(.*) \|$/gm)].map(
      (row) => row[1] ?? '',
    );
    expect(rows.length).toBeGreaterThan(35);
    const wrong = rows.filter((row) => {
      const tests = [...(row.split(' | ').at(-1) ?? '').matchAll(/`([^`]+\.test\.ts)` "([^"]+)"/g)];
      return (
        tests.length === 0 ||
        !tests.every(([, file = '', name = '']) => existsSync(file) && readFileSync(file, 'utf8').includes(name))
      );
    });
    expect(wrong).toEqual([]);
  });
});

it('the manual of configuration has every scope and what each preset may do', () => {
  const told = [...readFileSync('docs/configuration-as-code.md', 'utf8').matchAll(/^\| `(\w+:\w+)` \|(.*)\|$/gm)].map(
    ([, scope = '', cells = '']) => [scope, KEY_PRESETS.filter((_, i) => cells.split('|')[i]?.trim() === 'yes')],
  );
  const presetsWith = (scope: Scope) => KEY_PRESETS.filter((preset) => scopesOf(preset).includes(scope));
  expect(told).toEqual(SCOPES.map((scope) => [scope, presetsWith(scope)]));
});

/** Paths of the repository in backticks, without a line number. */
function namedPaths(document: string): string[] {
  return backticked(readFileSync(document, 'utf8')).filter((text) => REPOSITORY_PATH.test(text));
}

/** Relative links, as seen from the document. */
function linkedPaths(document: string): string[] {
  return [...readFileSync(document, 'utf8').matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map((match) =>
    join(dirname(document), match[1] ?? ''),
  );
}

/** In a row, the names in backticks after a path belong to that file. */
function mappedFunctions(text: string): { file: string; name: string }[] {
  const named: { file: string; name: string }[] = [];
  for (const row of text.split('\n').filter((line) => line.startsWith('| **'))) {
    let file = '';
    for (const token of backticked(row)) {
      if (REPOSITORY_PATH.test(token)) file = token;
      else if (file !== '' && /^[\w.#]+$/.test(token)) named.push(...token.split('.').map((name) => ({ file, name })));
    }
  }
  return named;
}

function backticked(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map((match) => (match[1] ?? '').replace(/:\d+$/, ''));
}

function declares(file: string, name: string): boolean {
  if (!existsSync(file)) return false;
  const declaration = file.endsWith('.sql')
    ? new RegExp(`function\\s+(\\w+\\.)?${name}\\s*\\(`, 'i')
    : new RegExp(
        `(?:function|class|interface|type|const)\\s+${name}\\b|^\\s+(?:(?:async|static|get|readonly)\\s+)*${name}\\s*[(<=]`,
        'm',
      );
  return declaration.test(readFileSync(file, 'utf8'));
}
