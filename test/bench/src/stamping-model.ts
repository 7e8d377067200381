import { setTimeout as sleep } from 'node:timers/promises';
import { type FakeServer, startFakeServer } from '@turnkeeper/test-harness';

const WORDS = 12;
const GAP_MS = 40;

/** A model whose words are the times at which they left it, in microseconds of this process's clock. */
export function startStampingModel(): Promise<FakeServer> {
  return startFakeServer(async (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let word = 0; word < WORDS; word++) {
      if (word > 0) await sleep(GAP_MS);
      const content = `${Math.round(performance.now() * 1000)} `;
      response.write(`data: ${JSON.stringify(chunkOf({ content }))}\n\n`);
    }
    response.end(`data: ${JSON.stringify(chunkOf({}, 'stop'))}\n\ndata: [DONE]\n\n`);
  });
}

function chunkOf(delta: object, finish: string | null = null): object {
  return {
    ...{ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 0, model: 'stamps' },
    choices: [{ index: 0, delta, finish_reason: finish }],
  };
}
