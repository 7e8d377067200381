/** Writes the pages of docs/, and the types of the client, that are made from tables in the code. `npm run docs:generate` */
import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../packages/protocol/src/index.ts';
import { generatedPages } from './generated-pages.ts';
import { baselineBreaks, writeBaseline } from './openapi/baseline.ts';

for (const { path, text } of await generatedPages()) writeFileSync(path, text);
// what was added is promised from now on; what breaks a promise is for check:openapi to refuse
if (baselineBreaks(openApiDocument()).length === 0) writeBaseline(openApiDocument());
