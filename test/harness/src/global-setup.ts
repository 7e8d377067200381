import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';

/** Takes the services from `TURNKEEPER_{POSTGRES,REDIS,NATS}_URL`, else starts its own and stops them at the end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const given = urlsFromEnv();
  if (given !== undefined) {
    project.provide('urls', given);
    return async () => undefined;
  }
  const { startLocalServices } = await import('@turnkeeper/platform/local-services');
  const services = await startLocalServices({ need: ['postgres', 'redis', 'nats'] });
  project.provide('urls', services.urls);
  return () => services.stop();
}

function urlsFromEnv(): ProvidedContext['urls'] | undefined {
  const postgres = process.env['TURNKEEPER_POSTGRES_URL'];
  const redis = process.env['TURNKEEPER_REDIS_URL'];
  const nats = process.env['TURNKEEPER_NATS_URL'];
  if (postgres === undefined || redis === undefined || nats === undefined) return undefined;
  return { postgres, redis, nats };
}
