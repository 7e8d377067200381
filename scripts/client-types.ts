import openapiTS, { astToString } from 'openapi-typescript';
import { openApiDocument } from '../packages/protocol/src/index.ts';

const HEAD = `/* Made from docs/openapi.json by \`npm run docs:generate\`; a test compares. What tenants call, and its good answers: */
/* anything else is a problem document, which the client throws as an ApiError. */
`;

/** The types of `packages/client`: every operation under /v1 of the API's document. */
export async function clientTypes(): Promise<string> {
  const document = structuredClone(openApiDocument()) as unknown as Document;
  document.paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => path.startsWith('/v1/')));
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    operation.responses = Object.fromEntries(
      Object.entries(operation.responses).filter(([status]) => status.startsWith('2')),
    );
  }
  return HEAD + astToString(await openapiTS(JSON.stringify(document), { immutable: true }));
}

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
}
