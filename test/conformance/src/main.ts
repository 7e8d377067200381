import { runVectors, vectorsFolder } from './suite.ts';

const results = await runVectors(vectorsFolder());
for (const { op, passed, failed, pending } of results) {
  console.log(`${op}  ${passed} passed, ${failed.length} failed, ${pending} pending`);
}
for (const { failed } of results) for (const { id, why } of failed) console.error(`${id}: ${why}`);
process.exitCode = results.some(({ failed }) => failed.length > 0) ? 1 : 0;
