import { beforeAll, describe, expect, it } from 'vitest';
import { explore } from './explore.ts';
import { findSpin, requireCompiler } from './find-spin.ts';
import { SHORT } from './variants.ts';

describe('the protocol, every interleaving of it', () => {
  let spin: string;

  beforeAll(async () => {
    await requireCompiler();
    spin = await findSpin();
  });

  it.concurrent.for(SHORT)('$model: $name → $expect', async (variant) => {
    const found = await explore(variant, { spin, limitMs: 120_000, memoryMbMax: 1500 });
    expect(found.verdict, found.log).toBe(variant.expect);
  });
});
