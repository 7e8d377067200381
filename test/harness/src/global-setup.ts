import { startLocalServices } from '@turnkeeper/platform/local-services';
import type { TestProject } from 'vitest/node';

/** Takes the services that `TURNKEEPER_{POSTGRES,REDIS,NATS}_URL` name, starts the others, and stops those at the end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const services = await startLocalServices({ need: ['postgres', 'redis', 'nats'] });
  project.provide('urls', services.urls);
  return () => services.stop();
}
