/** The document of the HTTP API, judged by a linter. */

import { createConfig, lintFromString } from '@redocly/openapi-core';
import { openApiDocument } from '@turnkeeper/protocol';
import { expect, test } from 'vitest';

test('has no errors under the recommended rules', async () => {
  const config = await createConfig({
    extends: ['recommended'],
    rules: { 'no-server-example.com': 'off', 'operation-4xx-response': 'error' },
  });
  const problems = await lintFromString({ source: JSON.stringify(openApiDocument()), config });
  expect(
    problems
      .filter(({ severity }) => severity === 'error')
      .map(({ message, location }) => [message, location[0]?.pointer]),
  ).toEqual([]);
});
