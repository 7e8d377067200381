/** Starts services for the test of a killed parent, tells where they are, and waits to be killed. */
import { startLocalServices } from '@turnkeeper/platform/local-services';

const [dataDir] = process.argv.slice(2);
const services = await startLocalServices({
  need: ['postgres', 'redis', 'nats'],
  env: {},
  prefer: 'program',
  ...(dataDir === undefined ? {} : { dataDir }),
});
process.stdout.write(`${JSON.stringify({ urls: services.urls, processes: services.processes })}\n`);
setInterval(() => undefined, 60_000);
