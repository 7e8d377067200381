import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HELD_BY, runVectors, vectorsFolder } from './suite.ts';

const DUE =
  /^(key|whatsapp|transcript|lifecycle|reset|route|session|drain|recovery|resume|turn|stuck|ledger|provenance|usage|cache)\.|^(webchat\.(platform|resolveKey)|lane\.shared|history\.window|api\.historyLimit|agent\.route|lane\.prune|retention\.cap|silence\.match)$/;

describe('the vectors', async () => {
  const results = await runVectors(vectorsFolder());

  it.each(results)('$op has no wrong answer', ({ op, failed, pending }) => {
    expect(failed).toEqual([]);
    if (DUE.test(op)) expect(pending).toBe(0);
  });

  it('hold every op that is due', () => {
    const due = results.filter(({ op }) => DUE.test(op));
    expect(due).toHaveLength(62);
    expect(due.every(({ passed }) => passed > 0)).toBe(true);
  });
});

describe('rules that are SQL', () => {
  it.each(Object.entries(HELD_BY))('%s is held by %s', (op, path) => {
    expect(readFileSync(join(import.meta.dirname, '../../..', path), 'utf8')).toContain(`'${op}'`);
  });
});
