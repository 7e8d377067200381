/** `npm run model [NAME …]`: explores every variant, the long ones too, and prints a line for each. */
import { explore } from './explore.ts';
import { findSpin, requireCompiler } from './find-spin.ts';
import { LONG, SHORT } from './variants.ts';

await requireCompiler();
const spin = await findSpin();
const wanted = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const variant of [...SHORT, ...LONG].filter(({ name }) => wanted.length === 0 || wanted.includes(name))) {
  const startedAt = performance.now();
  const { verdict, states, log } = await explore(variant, { spin, limitMs: 20 * 60_000, memoryMbMax: 12_000 });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const isAsExpected = verdict === variant.expect;
  if (isAsExpected) passed++;
  else failed++;
  console.log(
    `${isAsExpected ? 'ok  ' : 'FAIL'} ${variant.model}: ${variant.name}: ${verdict}, ${states} states, ${seconds} s`,
  );
  if (!isAsExpected) console.log(log);
}
console.log(`${passed} passed, ${failed} failed`);
if (failed > 0 || passed === 0) process.exitCode = 1;
