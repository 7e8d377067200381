/** `node scripts/count-results.ts VERIFY_STATUS`: the closing line of .ci/run; `npm run verify` counts as one. */
import { readTally } from './test-results.ts';

const verify = process.argv[2] === '0' ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
const suites = ['test', 'selftest'].map(readTally);
const passed = suites.reduce((sum, tally) => sum + tally.passed, verify.passed);
const failed = suites.reduce((sum, tally) => sum + tally.failed, verify.failed);
process.stdout.write(`${passed} passed, ${failed} failed\n`);
process.exitCode = failed > 0 || suites.some((tally) => tally.passed === 0) ? 1 : 0;
