import { documentConfig } from '../packages/platform/src/config/index.ts';
import { localServicesTable } from '../packages/platform/src/local-services/index.ts';
import { processTable } from '../packages/platform/src/process/index.ts';
import { documentMetrics } from '../packages/platform/src/telemetry/index.ts';
import { errorsPage, openApiDocument, streamingPage } from '../packages/protocol/src/index.ts';
import { cliTable, demoTable } from '../services/cli/src/config.ts';
import { coordinatorTable } from '../services/coordinator/src/config.ts';
import { ingressTable } from '../services/ingress/src/config.ts';
import { sessionWorkerTable } from '../services/session-worker/src/config.ts';
import { clientTypes } from './client-types.ts';

export interface GeneratedPage {
  readonly path: string;
  readonly text: string;
}

/** The files that are made from tables in the code, as they should be: pages of docs/, and the client's types. */
export async function generatedPages(): Promise<GeneratedPage[]> {
  return [
    { path: 'docs/configuration.md', text: configurationPage() },
    { path: 'docs/metrics.md', text: metricsPage() },
    { path: 'docs/errors.md', text: errorsPage() },
    { path: 'docs/openapi.json', text: `${JSON.stringify(openApiDocument(), null, 2)}\n` },
    { path: 'docs/streaming.md', text: streamingPage() },
    { path: 'packages/client/src/generated/api.ts', text: await clientTypes() },
  ];
}

function configurationPage(): string {
  const services = [ingressTable, sessionWorkerTable, coordinatorTable];
  return [
    '# Configuration of processes',
    '',
    '<!-- Made by `npm run docs:generate`; change the tables in the code. -->',
    '',
    'Processes are configured by environment variables. A value that may be secret can come from a file instead: put the',
    "file's path into the variable of the same name with `_FILE` at the end. A wrong value stops the start, and the error",
    'names every wrong variable at once. Tenants, agents and accounts are configured by `turnkeeper apply`.',
    '',
    documentConfig([processTable, ...services, cliTable, localServicesTable, demoTable]),
  ].join('\n');
}

function metricsPage(): string {
  return [
    '# Metrics',
    '',
    '<!-- Made by `npm run docs:generate`; change the catalogue in the code. -->',
    '',
    'Every process serves them in Prometheus text format at `/metrics` of its internal port, beside the usual `process_*`',
    'and `nodejs_*` of a Node.js process. A process shows only what it measures. Names and labels are contract; none of',
    'them has a tenant, a lane or another unbounded label.',
    '',
    documentMetrics(),
  ].join('\n');
}
