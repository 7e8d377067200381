import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Adapters } from './adapters/adapter.ts';
import { cacheAdapters } from './adapters/cache.ts';
import { deliveryAdapters } from './adapters/delivery.ts';
import { historyAdapters } from './adapters/history.ts';
import { keyAdapters } from './adapters/keys.ts';
import { recoveryAdapters } from './adapters/recovery.ts';
import { routingAdapters } from './adapters/routing.ts';
import { usageAdapters } from './adapters/usage.ts';

/** One case with its right answer: a file of a vectors folder is a list of them. */
interface Vector {
  readonly id: string;
  readonly op: string;
  readonly input: unknown;
  readonly expected: unknown;
}

export interface OpResult {
  readonly op: string;
  passed: number;
  readonly failed: { readonly id: string; readonly why: string }[];
  /** Cases whose op has no adapter: its rule is not there yet, or is SQL. */
  pending: number;
}

const ADAPTERS: Adapters = {
  ...keyAdapters,
  ...cacheAdapters,
  ...deliveryAdapters,
  ...historyAdapters,
  ...recoveryAdapters,
  ...routingAdapters,
  ...usageAdapters,
};

/** Ops whose rule is SQL: the test that runs their cases against a database. */
export const HELD_BY: Readonly<Record<string, string>> = {
  'api.channelFilter': 'packages/storage/src/read/session-store.pg.test.ts',
  'api.history': 'packages/storage/src/read/session-store.pg.test.ts',
  'search.match': 'packages/storage/src/read/search-store.pg.test.ts',
  'search.snippet': 'packages/storage/src/read/search-store.pg.test.ts',
};

/** Runs every case of every `*.json` of the folder; results per op, in the order of the files. */
export async function runVectors(folder: string): Promise<OpResult[]> {
  const results = new Map<string, OpResult>();
  for (const vector of await readVectors(folder)) {
    const result = results.get(vector.op) ?? { op: vector.op, passed: 0, failed: [], pending: 0 };
    results.set(vector.op, result);
    const adapter = ADAPTERS[vector.op];
    if (adapter === undefined) {
      result.pending++;
      continue;
    }
    const why = whyWrong(adapter, vector);
    if (why === null) result.passed++;
    else result.failed.push({ id: vector.id, why });
  }
  return [...results.values()];
}

/** The vectors folder: `VECTORS_DIR`, else the repository's own. */
export function vectorsFolder(): string {
  return process.env['VECTORS_DIR'] ?? join(import.meta.dirname, '../vectors');
}

async function readVectors(folder: string): Promise<Vector[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort();
  const files = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return files.flatMap((file, i) => {
    const vectors: unknown = JSON.parse(file);
    if (!Array.isArray(vectors) || !vectors.every(isVector)) throw new Error(`${names[i]} is no list of vectors`);
    return vectors;
  });
}

function isVector(value: unknown): value is Vector {
  return typeof value === 'object' && value !== null && 'op' in value && 'input' in value && 'expected' in value;
}

/** Null when the answer is right in every field. A throw is wrong. */
function whyWrong(adapter: (input: never) => unknown, { input, expected }: Vector): string | null {
  try {
    // the vectors are written for the op that they name, whose adapter states the type
    const actual = adapter(input as never);
    return isDeepStrictEqual(actual, expected) ? null : `expected ${show(expected)}, got ${show(actual)}`;
  } catch (error) {
    return `threw ${error}`;
  }
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
