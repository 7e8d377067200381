/** Runs one fake as a process of its own: `node main.ts openai|platform [port]`; prints `{"url":…}` when it listens, ends on SIGTERM. */
import { startFakeOpenAi } from './openai.ts';
import { startFakePlatform } from './platform.ts';

const [name, port] = process.argv.slice(2);
const start = name === 'openai' ? startFakeOpenAi : name === 'platform' ? startFakePlatform : null;
if (start === null) {
  process.stderr.write('usage: main.ts openai|platform [port]\n');
  process.exitCode = 2;
} else {
  const server = await start(Number(port ?? 0));
  process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
  process.once('SIGTERM', () => void server.close());
  process.once('disconnect', () => void server.close());
}
