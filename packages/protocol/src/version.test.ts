import { digestId } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import { WIRE_VERSION, wireSchemas } from './version.ts';

/** One line per version. When this test fails, raise WIRE_VERSION and add a line; never edit an old one that was released. */
const PINNED: Readonly<Record<number, string>> = {
  1: 'aa510345-b19e-1a66-c90c-74f657317ea9',
};

test('a wire schema changes only together with its version', () => {
  expect(digestId(JSON.stringify(wireSchemas()))).toBe(PINNED[WIRE_VERSION]);
});
