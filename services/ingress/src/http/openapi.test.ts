import { createMetrics } from '@turnkeeper/platform/telemetry';
import { openApiDocument } from '@turnkeeper/protocol';
import type { FastifyInstance } from 'fastify';
import { expect, it } from 'vitest';
import { createInternalApp, createPublicApp } from './listener-apps.ts';

/** Registering routes touches no part, so any part will do. Without its folder there is no chat page, which is no API. */
function anything(): unknown {
  return new Proxy(() => undefined, {
    get: (_target, name) =>
      name === 'then' || name === 'folder' ? undefined : name === Symbol.toPrimitive ? () => 'x' : anything(),
    apply: anything,
  });
}

async function routesOf(make: (server: never, readiness: never, parts: never) => FastifyInstance): Promise<string[]> {
  const metrics = createMetrics({ service: 'test', version: '0' });
  const server = { requestIdPrefix: 'r', logger: anything(), metrics, readJson: anything() };
  const app = make(server as never, anything() as never, anything() as never);
  const printed: string[] = [];
  await app.ready();
  const collect = app.printRoutes({ commonPrefix: false, includeHooks: false });
  await app.close();
  printed.push(...readRoutes(collect));
  return printed;
}

/** Fastify prints a tree: the path so far is the parts above with less indentation. */
function readRoutes(tree: string): string[] {
  const stack: { depth: number; part: string }[] = [];
  return tree.split('\n').flatMap((line) => {
    const found = /^([\s│]*[├└]── )(\S*)(?: \(([A-Z, ]+)\))?/.exec(line);
    if (found === null) return [];
    const [, indent = '', part = '', methods = ''] = found;
    while ((stack.at(-1)?.depth ?? -1) >= indent.length) stack.pop();
    stack.push({ depth: indent.length, part });
    const path = stack
      .map((above) => above.part)
      .join('')
      .replaceAll(/:(\w+)/g, '{$1}');
    return methods
      .split(', ')
      .filter((method) => method !== '' && method !== 'HEAD' && method !== 'OPTIONS')
      .map((method) => `${method.toLowerCase()} ${path}`);
  });
}

it('every route is in the document, and everything in it is a route', async () => {
  const routes = new Set([...(await routesOf(createPublicApp)), ...(await routesOf(createInternalApp))]);
  const { paths } = openApiDocument() as { paths: Record<string, object> };
  const documented = new Set(
    Object.entries(paths).flatMap(([path, item]) => Object.keys(item).map((method) => `${method} ${path}`)),
  );
  expect(
    [...routes].filter((route) => !documented.has(route)),
    'add these to OPERATIONS in packages/protocol/src/openapi/operations.ts, with their schemas, then run npm run docs:generate',
  ).toEqual([]);
  expect(
    [...documented].filter((route) => !routes.has(route)),
    'nothing answers these: take them out of OPERATIONS, then run npm run docs:generate',
  ).toEqual([]);
});
