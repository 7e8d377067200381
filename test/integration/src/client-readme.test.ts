/** Every example of the client's README is a whole program that prints what stands below it. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Cluster, startCluster } from '@turnkeeper/test-harness';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

const HOME = fileURLToPath(new URL('../../../packages/client/', import.meta.url));
/** In the package, so that its name is found from there. */
const folder = `${HOME}.cache/examples/`;
const examples = examplesOf(readFileSync(`${HOME}README.md`, 'utf8'));
let cluster: Cluster;

beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const { file, code } of examples) writeFileSync(folder + file, code);
  cluster = await startCluster({ urls: inject('urls'), ingress: 1, workers: 1, coordinators: 1 });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await cluster[Symbol.asyncDispose]();
});

describe('an example of the README', () => {
  it('stands in every section but the first', () => {
    const sections = [...readFileSync(`${HOME}README.md`, 'utf8').matchAll(/^## (.*)$/gm)].map(([, title]) => title);
    expect(examples.map(({ title }) => title)).toEqual(sections);
  });

  it('compiles, each of them', { timeout: 120_000 }, () => {
    writeFileSync(
      `${folder}tsconfig.json`,
      JSON.stringify({
        extends: '../../tsconfig.json',
        // as a reader has it
        compilerOptions: { noPropertyAccessFromIndexSignature: false, incremental: false },
        include: ['*.ts'],
      }),
    );
    const tsc = spawnSync(process.execPath, [`${HOME}../../node_modules/typescript/bin/tsc`, '--noEmit', '-p', folder]);
    expect(tsc.stdout.toString()).toBe('');
  });

  it.for(examples)('prints what it says: $title', { timeout: 120_000 }, ({ file, printed }) => {
    const env = {
      PATH: process.env['PATH'],
      TURNKEEPER_URL: cluster.ingress[0]?.url,
      TURNKEEPER_KEY: cluster.apiKey,
    };
    const ran = spawnSync(process.execPath, [folder + file], { env, encoding: 'utf8' });
    expect(ran.status, ran.stderr).toBe(0);
    expect(ran.stdout).toBe(printed);
  });
});

function examplesOf(page: string) {
  return [...page.matchAll(/^## (.*?)\n(?:(?!^## )[\s\S])*?```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/gm)].map(
    ([, title = '', code = '', printed = ''], i) => ({ title, code, printed, file: `example-${i + 1}.ts` }),
  );
}
