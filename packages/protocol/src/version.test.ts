import { digestId } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import { WIRE_VERSION, wireSchemas } from './version.ts';

/** One line per version. When this test fails, raise WIRE_VERSION and add a line; never edit an old one that was released. */
const PINNED: Readonly<Record<number, string>> = {
  1: '00a18e87-85c8-8769-d225-fadd7a2c6ebb',
  2: 'd9e5a430-c512-cdbb-8005-78df91a54168',
};

test('a wire schema changes only together with its version', () => {
  expect(digestId(JSON.stringify(wireSchemas()))).toBe(PINNED[WIRE_VERSION]);
});
