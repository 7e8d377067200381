import { build } from 'esbuild';
import { expect, test } from 'vitest';

const BYTES_MAX = 15_000;

test('is small, and browsers can load it: nothing but itself is in it', async () => {
  const { outputFiles, metafile } = await build({
    ...{ entryPoints: [new URL('./index.ts', import.meta.url).pathname], write: false, metafile: true },
    ...{ bundle: true, minify: true, format: 'esm', platform: 'browser', target: 'es2022', external: ['node:*'] },
  });
  const [file] = outputFiles;
  expect(file?.contents.length).toBeLessThan(BYTES_MAX);
  expect(file?.text).not.toContain('node:');
  expect(Object.keys(metafile.inputs)).toSatisfy((paths: string[]) =>
    paths.every((path) => path.startsWith('packages/client/src/')),
  );
});
