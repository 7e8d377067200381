import { startFakeServer } from '@turnkeeper/test-harness';

/** A model that answers nothing: its requests are held until somebody cuts them off. */
export interface HeldModel {
  readonly url: string;
  /** The request whose text is `key`: when it came, and when its connection was cut. */
  expect(key: string): { readonly came: Promise<void>; readonly cut: Promise<void> };
  close(): Promise<void>;
}

export async function startHeldModel(): Promise<HeldModel> {
  const expected = new Map<string, { readonly came: () => void; readonly cut: () => void }>();
  const server = await startFakeServer(({ body }, response) => {
    const { messages } = JSON.parse(body) as { messages: { role: string; content: unknown }[] };
    const text = String(messages.at(-1)?.content);
    const waiting = expected.get(text);
    response.on('close', () => waiting?.cut());
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    waiting?.came();
  });
  return {
    url: server.url,
    expect(key) {
      const [came, cut] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      expected.set(key, { came: came.resolve, cut: cut.resolve });
      return { came: came.promise, cut: cut.promise };
    },
    close: () => server.close(),
  };
}
