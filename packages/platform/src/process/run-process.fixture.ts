/** A service for the tests of `runProcess`: what it does is said by FIXTURE_* variables. */
import { AppError } from '@turnkeeper/core';
import { defineConfig, integer, text } from '../config/index.ts';
import { createProbeServer, runProcess } from './index.ts';

const schema = defineConfig('Fixture', {
  mode: text({ env: 'FIXTURE_MODE', help: 'What to do.' }),
  drainMs: integer({ env: 'FIXTURE_DRAIN_MS', default: 0, min: 0, max: 60_000, help: 'How long a drain takes.' }),
});

await runProcess({
  name: 'fixture',
  schema,
  compose: (config, kit) => {
    const probes = createProbeServer(kit);
    const tell = (what: string) => process.stdout.write(`${what}\n`);
    return {
      start: async () => {
        if (config.mode === 'fails')
          throw new AppError({ code: 'schema_mismatch', message: 'Run turnkeeper migrate.' });
        const internalPort = await probes.listen({ host: '127.0.0.1', port: 0 });
        if (config.mode === 'loses-lease')
          setImmediate(() => kit.fail(new AppError({ code: 'internal', message: 'lease lost' })));
        if (config.mode === 'throws') setImmediate(() => JSON.parse('{"secret text'));
        if (config.mode === 'stuck') kit.vitals.watch({ name: 'client', trouble: () => 'closed for good' });
        if (config.mode === 'blocked') setImmediate(standStill);
        if (config.mode === 'holds-loop') setInterval(() => undefined, 1000);
        return { internalPort };
      },
      drain: async (signal) => {
        tell('draining');
        await kit.clock.sleep(config.drainMs, signal);
        tell(signal.aborted ? 'handed back' : 'finished');
      },
      [Symbol.asyncDispose]: async () => {
        await probes[Symbol.asyncDispose]();
        tell('disposed');
      },
    };
  },
});

function standStill(): void {
  for (;;);
}
