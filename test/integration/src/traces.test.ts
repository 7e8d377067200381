/** A caller's trace goes on through the queue, the turn and the delivery; and holds no word of what was said. */
import { startCluster, startFakePlatform, startFakeServer, until } from '@turnkeeper/test-harness';
import { expect, inject, onTestFinished, test } from 'vitest';

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly links?: readonly { readonly traceId: string }[];
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

test('one trace from the caller to the delivery, without text, names or secrets', async () => {
  const spans: Span[] = [];
  let wire = '';
  const collector = await startFakeServer((request, response) => {
    wire += request.body;
    const { resourceSpans = [] } = JSON.parse(request.body);
    for (const { scopeSpans } of resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  onTestFinished(() => collector.close());
  const platform = await startFakePlatform();
  onTestFinished(() => platform.close());
  await using cluster = await startCluster({
    urls: inject('urls'),
    env: { TURNKEEPER_TRACES_URL: `${collector.url}/v1/traces`, TURNKEEPER_EGRESS_ALLOW: 'loopback' },
  });
  const headers = { authorization: `Bearer ${cluster.apiKey}`, 'content-type': 'application/json' };
  const url = cluster.ingress[0]?.url;
  const account = {
    ...{ name: 'out', agent: 'main', channel: 'webhook' },
    options: { verify: 'standard-webhooks', replyUrl: `${platform.url}/in` },
    secrets: { secret: 'canary-secret-0123456789' },
  };
  const made = await fetch(`${url}/v1/accounts`, { method: 'POST', headers, body: JSON.stringify(account) });
  expect(made.status, await made.text()).toBeLessThan(300);

  const body = JSON.stringify({ accountId: 'out', sessionKey: 'canary-key', text: 'canary text' });
  const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;
  const accepted = await fetch(`${url}/v1/messages`, { method: 'POST', headers: { ...headers, traceparent }, body });
  expect(accepted.status).toBe(202);

  const named = (name: string) => spans.filter((span) => span.name === name && span.traceId === TRACE).length;
  const chain = ['POST /v1/messages', 'intake.accept', 'lane.wait', 'turn', 'invoke_agent main', 'deliver webhook'];
  await until('the whole way is told', () => chain.every((name) => named(name) === 1), 20_000);
  await until('batches and sweeps are told', () =>
    ['accept.batch', 'send tk.activations', 'process tk.activations', 'sweep dead-processes'].every((name) =>
      spans.some((span) => span.name === name),
    ),
  );
  await until('batches link to the turns that they served', () =>
    ['claim.batch', 'commit.batch'].every((name) =>
      spans.some((span) => span.name === name && span.links?.some(({ traceId }) => traceId === TRACE)),
    ),
  );
  const sent = spans.filter(({ name }) => name === 'send tk.activations').map(({ traceId }) => traceId);
  await until('a job is processed under the span that sent it', () =>
    spans.some(({ name, traceId }) => name === 'process tk.activations' && sent.includes(traceId)),
  );
  expect(platform.sends[0]?.headers['traceparent']).toContain(TRACE);
  expect(wire).not.toContain('canary');
}, 60_000);
