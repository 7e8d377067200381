import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { generatedPages } from './generated-pages.ts';

it.for(await generatedPages())('$path is what the code says (npm run docs:generate)', ({ path, text }) => {
  expect(readFileSync(path, 'utf8')).toBe(text);
});
