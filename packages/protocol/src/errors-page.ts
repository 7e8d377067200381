import { HTTP_ERRORS, RUN_ERRORS } from './errors.ts';

/** `docs/errors.md`, made from the tables. */
export function errorsPage(): string {
  const http = Object.entries(HTTP_ERRORS)
    .sort(([codeA, a], [codeB, b]) => a.status - b.status || codeA.localeCompare(codeB))
    .map(([code, info]) => `| ${info.status} | \`${code}\` | ${info.retryable ? 'yes' : 'no'} | ${info.text} |`);
  const run = Object.entries(RUN_ERRORS)
    .sort(([codeA], [codeB]) => codeA.localeCompare(codeB))
    .map(([code, text]) => `| \`${code}\` | ${text} |`);
  return [
    '# Errors',
    '',
    'Made from `packages/protocol/src/errors.ts`; a test compares. Codes are contract: they never change meaning.',
    '',
    'Errors are `application/problem+json` (RFC 9457) with `code`, `retryable`, `requestId`, and where they help',
    '`retryAfterMs` and `errors` (`[{pointer, code}]`). An answer other than 2xx to a write means that nothing was stored,',
    'but for `store_unavailable`, which means "unknown": repeat with the same idempotency key.',
    '',
    '## Codes of HTTP answers',
    '',
    '| status | code | again later? | what it means and what to do |',
    '|---|---|---|---|',
    ...http,
    '',
    '## Codes of runs (`run.error.code`)',
    '',
    '| code | what it means |',
    '|---|---|',
    ...run,
    '',
  ].join('\n');
}
