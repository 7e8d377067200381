import { readFileSync, writeFileSync } from 'node:fs';
import { documentBreaks } from './document-breaks.ts';
import { type Json, jsonOf } from './schema-breaks.ts';

/**
 * The promises of the HTTP API to those who wrote programs for it. A file of its own, not the last commit: it is there in
 * shallow and exported checkouts, and committing a break does not hide it. Additions enter it with `docs:generate`.
 */
export const BASELINE_FILE = 'docs/openapi.baseline.json';

/** What of the baseline the document breaks, a line each. */
export function baselineBreaks(document: Json): string[] {
  return documentBreaks(JSON.parse(readFileSync(BASELINE_FILE, 'utf8')) as Json, document);
}

/** Makes the document the baseline. */
export function writeBaseline(document: Json): void {
  writeFileSync(BASELINE_FILE, baselineText(document));
}

/** One line per operation, so that a change of the file shows which ones it is about. */
function baselineText(document: Json): string {
  const { paths, ...rest } = document;
  const lines = Object.entries(jsonOf(paths)).map(([path, item]) => {
    const operations = Object.entries(jsonOf(item)).map(
      ([method, operation]) => `${JSON.stringify(method)}:${JSON.stringify(operation)}`,
    );
    return `${JSON.stringify(path)}:{\n${operations.join(',\n')}}`;
  });
  return `${JSON.stringify(rest).slice(0, -1)},\n"paths":{\n${lines.join(',\n')}}}\n`;
}
