import { HELD_BY, runVectors, vectorsFolder } from './suite.ts';

const results = await runVectors(vectorsFolder());
for (const { op, passed, failed, pending } of results) {
  const held = HELD_BY[op] === undefined ? `${pending} pending` : `${pending} in ${HELD_BY[op]}`;
  console.log(`${op}  ${passed} passed, ${failed.length} failed, ${held}`);
}
for (const { failed } of results) for (const { id, why } of failed) console.error(`${id}: ${why}`);
process.exitCode = results.some(({ failed }) => failed.length > 0) ? 1 : 0;
