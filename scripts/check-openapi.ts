/**
 * Gate: the HTTP API keeps what docs/openapi.baseline.json promises. A line for each break; additions pass.
 * `node scripts/check-openapi.ts --accept` makes a break the new promise: say it in a changeset.
 */
import { openApiDocument } from '../packages/protocol/src/index.ts';
import { BASELINE_FILE, baselineBreaks, writeBaseline } from './openapi/baseline.ts';

const breaks = baselineBreaks(openApiDocument());
for (const line of breaks) process.stdout.write(`${line}\n`);
if (process.argv.includes('--accept')) {
  writeBaseline(openApiDocument());
} else if (breaks.length > 0) {
  process.stdout.write(`${breaks.length} broken promises of ${BASELINE_FILE}\n`);
  process.exitCode = 1;
}
