import { existsSync, readFileSync } from 'node:fs';

/** What a vitest run came to. A file that could not be loaded has no test to count, but it failed. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Where `run-tests.ts` leaves the JSON report of a suite. */
export function resultsFile(suite: string): string {
  return `.cache/results/${suite}.json`;
}

/** Counts the report of a suite. A suite without one has failed. */
export function readTally(suite: string): Tally {
  const file = resultsFile(suite);
  if (!existsSync(file)) return { passed: 0, failed: 1, skipped: 0 };
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  const unloaded = report.testResults.filter((one) => one.status === 'failed' && one.assertionResults.length === 0);
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + unloaded.length,
    skipped: report.numPendingTests,
  };
}

interface Report {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}
