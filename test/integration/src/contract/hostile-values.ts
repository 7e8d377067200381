import fc from 'fast-check';
import type { Json } from './api-contract.ts';
import { validValues } from './valid-values.ts';

type Values = fc.Arbitrary<unknown>;

/** Text that has broken parsers, stores, logs and terminals before. */
const NASTY = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udfff',
  '\u202e\u2066',
  '\ufeff',
  '\u001b[31m',
  "'; drop table tk.events; --",
  '{{text}}',
  '$1',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'null',
  '-1',
  '1e309',
  '99999999999999999999',
  '0x10',
  '١٢',
  'NaN',
  'true',
  '%00',
  '~',
  '~AAAA',
  '~!!',
  'default',
  'ses_00000000000000000000000000',
  'agt_zzzzzzzzzzzzzzzzzzzzzzzzzz',
  'é'.repeat(300),
  'x'.repeat(5_000),
];

/** Any text, and often one of the nasty ones. */
export const nastyTexts: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

const nastyNumbers = fc.constantFrom(-1, 0, -0, 1.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e308, 5e-324);

/** Any JSON, with nasty texts and numbers in it and as names in it. */
const nastyJson: Values = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    nastyTexts,
    nastyNumbers,
    fc.constantFrom<unknown>(null, true, false, [], {}),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(nastyTexts, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

/** Bodies as text: JSON of any kind, and what is none. */
export const nastyBodies: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: nastyJson.map((value) => JSON.stringify(value)) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '',
      '{',
      '{"a":1,}',
      'nonsense',
      '{"__proto__":{"a":1}}',
      '{"text":"a","text":"b"}',
      '{"text":"\\ud800"}',
      '{"a":1e999}',
      deep(200),
      deep(20_000),
      `[${'1,'.repeat(20_000)}1]`,
      `{"text":"${'x'.repeat(300_000)}"}`,
    ),
  },
  { weight: 1, arbitrary: nastyTexts },
);

/** A value that the schema allows but for one place. */
export function nearlyValid(schema: Json): fc.Arbitrary<unknown> {
  return fc
    .tuple(validValues(schema), fc.nat(), nastyJson, fc.constantFrom('replace', 'remove', 'add'))
    .map(([value, at, instead, how]) => spoiled(value, { at, instead, how }));
}

interface Spoil {
  readonly at: number;
  readonly instead: unknown;
  readonly how: string;
}

/** The value with its n-th place (counted round) replaced or removed, or with one more beside it. */
function spoiled(value: unknown, { at, instead, how }: Spoil): unknown {
  const copy = structuredClone(value);
  const places = placesOf(copy);
  const place = places[at % Math.max(1, places.length)];
  if (place === undefined) return instead;
  const [holder, name] = place;
  if (how === 'replace') Reflect.set(holder, name, instead);
  else if (how === 'remove') Reflect.deleteProperty(holder, name);
  else Reflect.set(holder, `${name}X`, instead);
  return copy;
}

function placesOf(value: unknown): [object, string][] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, item]): [object, string][] => [[value, name], ...placesOf(item)]);
}
