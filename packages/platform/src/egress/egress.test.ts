import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createMetrics } from '../telemetry/index.ts';
import { clusterPorts, createEgress, type Egress, EgressError, type FetchLimits } from './index.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing[Symbol.asyncDispose]();
});

const metrics = createMetrics({ service: 'test', version: '1' });
const limits: FetchLimits = { firstByteMs: 5000, idleMs: 5000, totalMs: 10_000, bytesMax: 1000 };

function egress(
  options: { allow?: string[]; clusterPorts?: Set<number>; perTenant?: number; connectMs?: number } = {},
): Egress {
  const made = createEgress({
    allow: options.allow ?? ['loopback'],
    ...(options.clusterPorts && { clusterPorts: options.clusterPorts }),
    connectionsPerTenantMax: options.perTenant ?? 10,
    connectMs: options.connectMs ?? 2000,
    metrics,
  });
  open.push(made);
  return made;
}

async function serve(listener: RequestListener): Promise<{ url: string; server: Server }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  open.push({
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return { url: `http://127.0.0.1:${address.port}`, server };
}

const post = (url: string, timeoutMs = 5000) => ({
  url,
  headers: { 'content-type': 'text/plain' },
  body: 'hi',
  timeoutMs,
});
const failure = async (work: Promise<unknown>) => {
  const err = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  return err instanceof EgressError ? [err.kind, err.mayHaveArrived] : err;
};

describe('send', () => {
  it('resolves with status and headers, whatever the status', async () => {
    const { url } = await serve((request, response) => {
      request.resume();
      response.writeHead(429, { 'Retry-After': '7' }).end('slow down');
    });
    expect(await egress().send('t', post(url))).toMatchObject({ status: 429, headers: { 'retry-after': '7' } });
  });

  it('never goes to a private address: not by number, not by name, not by redirect', async () => {
    let reached = 0;
    const { url } = await serve((_, response) => {
      reached += 1;
      response.end();
    });
    const port = new URL(url).port;
    const strict = egress({ allow: [] });
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '0x7f.1']) {
      expect(await failure(strict.send('t', post(`http://${host}:${port}/`)))).toEqual(['blocked', false]);
    }
    expect(reached).toBe(0);
    const target = await serve((_, response) => response.writeHead(307, { location: url }).end());
    expect((await egress().send('t', post(target.url))).status).toBe(307);
    expect((await egress().fetchFor('t', limits)(target.url)).status).toBe(307);
    expect(reached).toBe(0);
    expect(await metrics.text()).toContain('turnkeeper_egress_blocked_total{reason="loopback"}');
  });

  it('reaches no port of the cluster, although its address is allowed', async () => {
    let reached = 0;
    const { url } = await serve((_, response) => {
      reached += 1;
      response.end();
    });
    const port = Number(new URL(url).port);
    const guarded = egress({ clusterPorts: new Set([port]) });
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '2130706433']) {
      expect(await failure(guarded.send('t', post(`http://${host}:${port}/`)))).toEqual(['blocked', false]);
      expect(await failure(guarded.fetchFor('t', limits)(`http://${host}:${port}/`))).toEqual(['blocked', false]);
    }
    expect(reached).toBe(0);
    expect(await metrics.text()).toContain('turnkeeper_egress_blocked_total{reason="cluster_port"}');
    const other = await serve((_, response) => response.end());
    expect((await guarded.send('t', post(other.url))).status).toBe(200);
  });

  it('knows the ports of its own stores and listener', () => {
    const storeUrls = ['postgres://u@db/x', 'redis://127.0.0.1:56379', 'nats://bus'];
    const ports = clusterPorts({ egressDenyPorts: ['8421', '9000'], storeUrls, internalPort: 8422 });
    expect([...ports].toSorted((a, b) => a - b)).toEqual([4222, 5432, 8421, 8422, 9000, 56_379]);
    expect(clusterPorts({ egressDenyPorts: [], storeUrls: [], internalPort: 0 })).toEqual(new Set());
  });

  it.each(['ftp://127.0.0.1/', 'file:///etc/passwd', 'http://user:word@127.0.0.1/', 'nonsense'])(
    'refuses %s',
    async (url) => {
      expect(await failure(egress().send('t', post(url)))).toEqual(['blocked', false]);
    },
  );

  it('tells a connection that was never made from an answer that never came', async () => {
    const out = egress();
    expect(await failure(out.send('t', post('http://127.0.0.1:1/')))).toEqual(['connect', false]);
    expect(await failure(out.send('t', post('http://no-such-host.invalid/')))).toEqual(['connect', false]);
    const plain = await serve(() => undefined);
    expect(await failure(out.send('t', post(plain.url.replace('http', 'https'))))).toEqual(['connect', false]);
    expect(await failure(out.send('t', post(plain.url, 50)))).toEqual(['timeout', true]);
    const { url } = await serve((request) => request.socket.destroy());
    expect(await failure(out.send('t', post(url)))).toEqual(['reset', true]);
  });

  it('withholds the first byte of a sender that may no longer send when the connection stands', async () => {
    let reached = 0;
    const { url } = await serve((_, response) => {
      reached += 1;
      response.end();
    });
    const out = egress();
    const asked: string[] = [];
    const ask = (may: boolean) => () => {
      asked.push(String(may));
      return may;
    };
    expect(await failure(out.send('t', { ...post(url), mayStart: ask(false) }))).toEqual(['withheld', false]);
    expect(reached).toBe(0);
    expect((await out.send('t', { ...post(url), mayStart: ask(true) })).status).toBe(200);
    expect(asked).toEqual(['false', 'true']);
  });

  it('ends an answer whose body trickles in with the time, so that its place is free again', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200);
      const trickle = setInterval(() => response.write('.'), 20);
      response.once('close', () => clearInterval(trickle));
    });
    const out = egress({ perTenant: 1 });
    expect((await out.send('t', post(url, 300))).status).toBe(200);
    expect((await out.send('t', post(url, 300))).status).toBe(200);
  });

  it('gives up when its caller does', async () => {
    const stop = new AbortController();
    const { url } = await serve(() => stop.abort());
    expect(await failure(egress().send('t', { ...post(url), signal: stop.signal }))).toEqual(['aborted', true]);
  });

  it('counts an answer whose body breaks off, for its head has decided', async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x', () => response.destroy());
    });
    expect((await egress().send('t', post(url))).status).toBe(200);
  });

  it('lets a tenant hold its share of connections and no more, and others theirs', async () => {
    const waiting: (() => void)[] = [];
    const { url } = await serve((_, response) => waiting.push(() => response.end()));
    const out = egress({ perTenant: 1, connectMs: 300 });
    const first = out.send('a', post(url));
    await expect.poll(() => waiting.length).toBe(1);
    expect(await failure(out.send('a', post(url)))).toEqual(['busy', false]);
    const next = out.send('a', post(url));
    const other = out.send('b', post(url));
    await expect.poll(() => waiting.length).toBe(2);
    for (const answer of waiting.splice(0)) answer();
    await Promise.all([first, other]);
    await expect.poll(() => waiting.length).toBe(1);
    for (const answer of waiting.splice(0)) answer();
    expect((await next).status).toBe(200);
  });
});

describe('fetchFor', () => {
  it('streams: a piece arrives before the next one is sent', async () => {
    const pieces: string[] = [];
    let sendRest: () => void = () => undefined;
    const { url } = await serve((_, response) => {
      response.write('one ');
      sendRest = () => response.end('two');
    });
    const answer = await egress().fetchFor('t', limits)(url, { method: 'POST', body: 'x' });
    if (!answer.body) throw new Error('no body');
    for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
      pieces.push(piece);
      sendRest();
    }
    expect(pieces.join('')).toBe('one two');
    expect(pieces.length).toBeGreaterThan(1);
  });

  it('cuts an answer off that is too large, silent or too long', async () => {
    const big = await serve((_, response) => response.end('x'.repeat(5000)));
    const out = egress();
    const text = async (url: string, some: Partial<FetchLimits>) =>
      (await out.fetchFor('t', { ...limits, ...some })(url)).text();
    expect(await failure(text(big.url, {}))).toEqual(['too_large', true]);
    const silent = await serve((_, response) => response.write('begun'));
    expect(await failure(text(silent.url, { idleMs: 50 }))).toEqual(['timeout', true]);
    expect(await failure(text(silent.url, { totalMs: 50 }))).toEqual(['timeout', true]);
    const mute = await serve(() => undefined);
    expect(await failure(text(mute.url, { firstByteMs: 50 }))).toEqual(['timeout', true]);
    const broken = await serve((_, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x', () => response.destroy());
    });
    expect(await failure(text(broken.url, {}))).toEqual(['reset', true]);
  });

  it('gives the connection back when the body ends, fails or is given up', async () => {
    const { url } = await serve((request, response) =>
      request.url === '/slow' ? response.write('a') : response.end('b'),
    );
    const fetchOne = egress({ perTenant: 1, connectMs: 2000 }).fetchFor('t', limits);
    await (await fetchOne(url)).text();
    await (await fetchOne(`${url}/slow`)).body?.cancel();
    const stop = new AbortController();
    const slow = await fetchOne(`${url}/slow`, { signal: stop.signal });
    stop.abort();
    await expect(slow.text()).rejects.toMatchObject({ name: 'AbortError' });
    expect(await (await fetchOne(url)).text()).toBe('b');
  });

  it('refuses a blocked address with its own error, not a wrapped one', async () => {
    expect(await failure(egress({ allow: [] }).fetchFor('t', limits)('http://127.0.0.1:9999/'))).toEqual([
      'blocked',
      false,
    ]);
  });
});

it('a connection that hangs in TLS is given up in time', async () => {
  const mute = createTcpServer().listen(0, '127.0.0.1');
  await once(mute, 'listening');
  const address = mute.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const kind = await failure(egress({ connectMs: 100 }).send('t', post(`https://127.0.0.1:${address.port}/`)));
  mute.close();
  expect(kind).toEqual(['connect', false]);
});
