import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { computeKeys } from './key.ts';

const SLOT = 1008;
const dm = { platform: 'telegram', chatType: 'dm', chatId: '99' };

async function run(...lines: (string | object)[]) {
  const input = Readable.from([
    lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
  ]);
  const output = new PassThrough();
  const printed = text(output);
  const reasons: string[] = [];
  const badLines = await computeKeys(input, output, (line, why) => reasons.push(`${line} ${why}`));
  output.end();
  const answers: unknown[] = (await printed)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  return { badLines, answers, reasons };
}

describe('turnkeeper key', () => {
  it('answers every line with its key, slot and partition', async () => {
    const { badLines, answers } = await run(
      { source: dm },
      { source: dm, agent: 'desk', tenant: 'acme', partitions: 4 },
      { source: { ...dm, chatType: 'group', userId: 'U' }, keyPolicy: { name: 'echo', scope: 'shared' } },
    );
    expect(badLines).toBe(0);
    expect(answers).toMatchObject([
      { key: 'agent:main:telegram:dm:99' },
      { key: 'agent:desk:telegram:dm:99' },
      { key: 'telegram:99' },
    ]);
  });

  it('computes the slot from tenant, agent and key, and the partition from it', async () => {
    // node:crypto over "demo␟main␟agent:main:telegram:dm:99", first four bytes mod 4096
    const { answers } = await run({ source: dm }, { source: dm, partitions: 1 }, { source: dm, partitions: 4096 });
    expect(answers).toEqual([
      { key: 'agent:main:telegram:dm:99', slot: SLOT, partition: SLOT % 16 },
      { key: 'agent:main:telegram:dm:99', slot: SLOT, partition: 0 },
      { key: 'agent:main:telegram:dm:99', slot: SLOT, partition: SLOT },
    ]);
  });

  it('answers a bad line by its code and number, and goes on', async () => {
    const { badLines, answers, reasons } = await run(
      'no json',
      { source: dm },
      '',
      {},
      { source: { ...dm, colour: 'red' } },
      { source: dm, keyPolicy: 'hash' },
      { source: dm, agent: 'default' },
      { source: dm, partitions: 0 },
      { source: { ...dm, chatId: 'ü'.repeat(256) } },
      { source: dm },
    );
    expect(badLines).toBe(8);
    expect(reasons.slice(0, 3)).toEqual(['1 is no JSON', '3 is no JSON', '4 /source: is missing']);
    expect(answers).toMatchObject([
      { error: { code: 'invalid_json', line: 1 } },
      { key: 'agent:main:telegram:dm:99' },
      { error: { code: 'invalid_json', line: 3 } },
      { error: { code: 'missing_field', line: 4 } },
      { error: { code: 'unknown_field', line: 5 } },
      { error: { code: 'invalid_field', line: 6 } },
      { error: { code: 'invalid_field', line: 7 } },
      { error: { code: 'invalid_field', line: 8 } },
      { error: { code: 'malformed_key', line: 9 } },
      { key: 'agent:main:telegram:dm:99' },
    ]);
  });
});
