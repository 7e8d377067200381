import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlantedCopy } from './planted-copy.ts';

interface Plant {
  readonly fault: string;
  readonly gate: string;
  /** What the gate must say: the rule, and the planted file. */
  readonly says: RegExp;
  readonly files: Readonly<Record<string, string>>;
}

const RULES = readFileSync('.dependency-cruiser.cjs', 'utf8');
const CORE = 'packages/core/src';
const INPUTS = 'packages/protocol/src/http/inputs.ts';
const WORKER = 'deploy/kubernetes/base/session-worker.yaml';
const SECURITY = `          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
`;
const UNIT_TESTS = 'test:unit -- packages/core/src/planted';
const passing = "import { expect, it } from 'vitest';\nit('holds', () => expect(1).toBe(1));\n";

const PLANTS: readonly Plant[] = [
  {
    fault: 'a cycle, of types only',
    gate: 'check:deps',
    says: /no-cycle: packages\/core\/src\/planted/,
    files: {
      [`${CORE}/planted-a.ts`]: "import type { B } from './planted-b.ts';\nexport type A = B | 1;\n",
      [`${CORE}/planted-b.ts`]: "import type { A } from './planted-a.ts';\nexport type B = A | 2;\n",
    },
  },
  {
    fault: 'an adapter that imports another',
    gate: 'check:deps',
    says: /not-in-allowed: packages\/storage\/src\/planted\.ts → packages\/queue/,
    files: { 'packages/storage/src/planted.ts': "export * from '@turnkeeper/queue';\n" },
  },
  {
    fault: 'a path into another member',
    gate: 'check:deps',
    says: /by-name: services\/ingress\/src\/planted\.ts/,
    files: { 'services/ingress/src/planted.ts': "export * from '../../../packages/core/src/ids.ts';\n" },
  },
  {
    fault: 'a deep import that the exports map hides',
    gate: 'check:deps',
    says: /resolvable: services\/ingress\/src\/planted\.ts/,
    files: { 'services/ingress/src/planted.ts': "export * from '@turnkeeper/core/src/ids.ts';\n" },
  },
  {
    fault: 'the command line reading the database outside its commands',
    gate: 'check:deps',
    says: /not-in-allowed: services\/cli\/src\/commands\/planted\.ts → packages\/storage/,
    files: { 'services/cli/src/commands/planted.ts': "export * from '@turnkeeper/storage';\n" },
  },
  {
    fault: 'node:fs in core',
    gate: 'check:deps',
    says: /pure: packages\/core\/src\/planted\.ts → (node:)?fs/,
    files: { [`${CORE}/planted.ts`]: "export { readFileSync } from 'node:fs';\n" },
  },
  {
    fault: 'kysely outside storage',
    gate: 'check:deps',
    says: /home-of-kysely: services\/ingress\/src\/planted\.ts/,
    files: { 'services/ingress/src/planted.ts': "export { sql } from 'kysely';\n" },
  },
  {
    fault: 'a source file the cruiser does not see',
    gate: 'check:deps',
    says: /not cruised: packages\/core\/src\/ids\.ts/,
    files: {
      '.dependency-cruiser.cjs': `${RULES}
module.exports.options.exclude = { path: '^packages/core/' };
`,
    },
  },
  {
    fault: 'a file of 401 lines',
    gate: 'check:lint',
    says: /planted\.ts.*noExcessiveLinesPerFile/s,
    files: {
      [`${CORE}/planted.ts`]: `${'// a line\n'.repeat(400)}export {};\n`,
    },
  },
  {
    fault: 'a function of 61 lines',
    gate: 'check:lint',
    says: /planted\.ts.*noExcessiveLinesPerFunction/s,
    files: {
      [`${CORE}/planted.ts`]: `export function planted(n: number): number {\n  let sum = n;\n${'  sum += 1;\n'.repeat(60)}  return sum;\n}\n`,
    },
  },
  {
    fault: 'an any',
    gate: 'check:lint',
    says: /planted\.ts.*noExplicitAny/s,
    files: { [`${CORE}/planted.ts`]: 'export const planted = (one: any) => one;\n' },
  },
  {
    fault: 'process.env outside the configuration',
    gate: 'check:lint',
    says: /planted\.ts.*noProcessEnv/s,
    files: { 'services/ingress/src/planted.ts': "export const planted = process.env['HOME'];\n" },
  },
  {
    fault: 'fetch outside the egress',
    gate: 'check:lint',
    says: /planted\.ts.*noRestrictedGlobals/s,
    files: { 'services/ingress/src/planted.ts': "export const planted = () => fetch('http://127.0.0.1');\n" },
  },
  {
    fault: 'a promise that nobody waits for',
    gate: 'check:lint',
    says: /planted\.ts.*noFloatingPromises/s,
    files: {
      [`${CORE}/planted.ts`]:
        'async function work(): Promise<void> {}\nexport function planted(): void {\n  work();\n}\n',
    },
  },
  {
    fault: 'a file that is not formatted',
    gate: 'check:format',
    says: /planted\.ts/,
    files: { [`${CORE}/planted.ts`]: 'export  const planted="x"\n' },
  },
  {
    fault: 'an export that nobody imports',
    gate: 'check:dead',
    says: /Unused exports.*planted .*planted\.ts/s,
    files: {
      [`${CORE}/planted.ts`]: 'export const used = 1;\nexport const planted = 2;\n',
      [`${CORE}/planted.test.ts`]:
        "import { it } from 'vitest';\nimport { used } from './planted.ts';\nit.todo(String(used));\n",
    },
  },
  {
    fault: 'a type error',
    gate: 'check:types',
    says: /planted\.ts.*TS2322/,
    files: { [`${CORE}/planted.ts`]: "export const planted: number = 'one';\n" },
  },
  {
    fault: 'a unit test that fails',
    gate: UNIT_TESTS,
    says: /planted\.test\.ts/,
    files: { [`${CORE}/planted.test.ts`]: passing.replace('toBe(1)', 'toBe(2)') },
  },
  {
    fault: 'a file name that promises nothing',
    gate: 'check:files',
    says: /lane-utils\.ts: "lane-utils\.ts" does not say/,
    files: { [`${CORE}/lane-utils.ts`]: 'export {};\n' },
  },
  {
    fault: 'an empty catch',
    gate: 'check:files',
    says: /planted\.ts:3: empty catch/,
    files: { 'services/ingress/src/planted.ts': 'try {\n  JSON.parse("");\n} catch {\n  // ignored\n}\n' },
  },
  {
    fault: 'the clock of the machine in core',
    gate: 'check:files',
    says: /planted\.ts:1: Date\.now\(\) in core/,
    files: { [`${CORE}/planted.ts`]: 'export const planted = Date.now();\n' },
  },
  {
    fault: 'an answer that lacks a promised field',
    gate: 'check:openapi',
    says: /POST \/v1\/inputs\/\{id\}\/answer 200 \/outcome: removed/,
    files: { [INPUTS]: edited(INPUTS, "inputId: z.string(), outcome: z.literal('answered')", 'inputId: z.string()') },
  },
  {
    fault: 'a request that needs a new field',
    gate: 'check:openapi',
    says: /POST \/v1\/inputs\/\{id\}\/answer request \/by: now required/,
    files: { [INPUTS]: edited(INPUTS, 'text: AnswerTextSchema', 'text: AnswerTextSchema, by: z.string()') },
  },
  {
    fault: 'a changeset without a text',
    gate: 'check:changes',
    says: /planted\.md: has no text/,
    files: { '.changeset/planted.md': '---\n"@turnkeeper/ingress": patch\n---\n\n' },
  },
  {
    fault: 'a misspelt field of a manifest',
    gate: 'check:deploy',
    says: /Deployment\/turnkeeper-session-worker: .*terminationGracePeriodSecond\b/,
    files: { [WORKER]: edited(WORKER, 'terminationGracePeriodSeconds:', 'terminationGracePeriodSecond:') },
  },
  {
    fault: 'a container without securityContext',
    gate: 'check:deploy',
    says: /Deployment\/turnkeeper-session-worker: session-worker: readOnlyRootFilesystem is not true/,
    files: { [WORKER]: edited(WORKER, SECURITY, '') },
  },
];

/** A file with one place changed; the place must be there, or the plant would be none. */
function edited(path: string, place: string, instead: string): string {
  const text = readFileSync(path, 'utf8');
  if (!text.includes(place)) throw new Error(`${path} no longer says ${place}`);
  return text.replace(place, instead);
}

describe('gates of npm run verify', () => {
  let copy: PlantedCopy;
  beforeAll(() => {
    copy = new PlantedCopy();
  });
  afterAll(() => copy.remove());

  const gates = [...new Set(PLANTS.map(({ gate }) => gate))];
  it.for(gates)('%s passes on what is there', (gate) => {
    const clean = gate === UNIT_TESTS ? { [`${CORE}/planted.test.ts`]: passing } : {};
    const { passed, output } = copy.runGate(gate, clean);
    expect(passed, output).toBe(true);
  });

  it.for(PLANTS)('$fault is refused by $gate', ({ gate, files, says }) => {
    const { passed, output } = copy.runGate(gate, files);
    expect(output).toMatch(says);
    expect(passed).toBe(false);
  });
});
