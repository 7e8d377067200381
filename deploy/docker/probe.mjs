/** `node probe.mjs PORT`: ends with 0 when the process of this container answers that it is ready. */
import { get } from 'node:http';

const DEADLINE_MS = 3_000;
const request = get({ host: '127.0.0.1', port: Number(process.argv[2]), path: '/readyz', timeout: DEADLINE_MS });
request.on('response', (answer) => process.exit(answer.statusCode === 200 ? 0 : 1));
request.on('timeout', () => process.exit(1));
request.on('error', () => process.exit(1));
