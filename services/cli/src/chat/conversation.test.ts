import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Conversation } from './conversation.ts';

const RUN = {
  ...{ runId: 'run_00000000000000000000000001', eventId: 'evt_00000000000000000000000001', sessionKey: 'k' },
  ...{ agentId: 'main', attempts: 1, createdAt: '2026-01-01T00:00:00.000Z' },
};
let server: Server;
let asked = 0;

/** A node that drains: its stream ends early, and it waits for no run. */
beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.method === 'POST') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const accepted = { type: 'event.accepted', at: '2026-01-01T00:00:00.000Z', data: { runId: RUN.runId } };
      response.end(`id: c\ndata: ${JSON.stringify(accepted)}\n\n`);
    } else {
      asked++;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ ...RUN, status: asked < 4 ? 'running' : 'ok' }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

it('does not ask a node that answers at once again and again without a pause', async () => {
  const pauses: number[] = [];
  const conversation = new Conversation({
    ...{ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, key: 'tk_1', agent: 'main' },
    ...{ sessionKey: 'k', write: () => undefined, onQuestion: () => undefined, onNote: () => undefined },
    onFile: () => undefined,
    sleep: async (ms) => {
      pauses.push(ms);
    },
  });
  await conversation.say('hi', new AbortController().signal);
  expect(asked).toBe(4);
  expect(pauses).toHaveLength(3);
  for (const [i, ms] of pauses.entries()) expect(ms).toBeGreaterThanOrEqual([500, 1_000, 2_000][i] ?? 0);
});
