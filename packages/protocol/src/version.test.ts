import { digestId } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import { WIRE_VERSION, wireSchemas } from './version.ts';

/** One line per version. When this test fails, raise WIRE_VERSION and add a line; never edit an old one that was released. */
const PINNED: Readonly<Record<number, string>> = {
  1: 'd9cff5e4-9c22-4f25-e921-39c47ac67349',
};

test('a wire schema changes only together with its version', () => {
  expect(digestId(JSON.stringify(wireSchemas()))).toBe(PINNED[WIRE_VERSION]);
});
