/** Writes the pages of docs/ that are made from tables in the code. `npm run docs:generate` */
import { writeFileSync } from 'node:fs';
import { generatedPages } from './generated-pages.ts';

for (const { path, text } of generatedPages()) writeFileSync(path, text);
