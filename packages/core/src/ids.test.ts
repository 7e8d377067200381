import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestId, formatId, isUuid, parseId, slotOf, uuidV7 } from './ids.ts';

const anyUuid = fc.uuid();

describe('public ids', () => {
  it('are prefix and 26 characters of Crockford base32', () => {
    expect(formatId('run', '00000000-0000-0000-0000-000000000000')).toBe(`run_${'0'.repeat(26)}`);
    expect(formatId('evt', 'ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe(`evt_7${'z'.repeat(25)}`);
    expect(formatId('ten', '01a22a4b-0036-7d80-8fd6-8b84d0b37a3e')).toBe('ten_01m8n4p01pfp08znmbgk8b6yhy');
  });

  it('keep order and lead back to their UUID', () => {
    fc.assert(
      fc.property(anyUuid, anyUuid, (a, b) => {
        expect(parseId(formatId('ses', a), 'ses')).toBe(a);
        expect(formatId('ses', a) < formatId('ses', b)).toBe(a < b);
      }),
    );
  });

  it.each([
    '',
    'run',
    'run_',
    `run_8${'0'.repeat(25)}`,
    `run_${'0'.repeat(25)}u`,
    `evt_${'0'.repeat(26)}`,
    `run_${'A'.repeat(26)}`,
  ])('%j is no id of a run', (text) => expect(parseId(text, 'run')).toBeNull());
});

describe('made ids', () => {
  it('of a moment begin with it, and say that they are UUIDv7', () => {
    const id = uuidV7(0x0123456789ab, Uint8Array.of(0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    expect(id).toBe('01234567-89ab-7f01-8203-040506070809');
    expect(isUuid(id)).toBe(true);
  });

  it('of texts are the same for ever', () => {
    expect(digestId('a', 'b')).toBe('f04cdced-9736-a69d-a610-3f08a4daaf8c');
    expect(slotOf('demo', 'main', 'agent:main:telegram:dm:7')).toBe(2419);
  });
});
