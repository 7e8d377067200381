import { afterEach, expect, it, vi } from 'vitest';
import { Files } from './files.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

it('replaces a refused token once, however many were refused at the same time', async () => {
  const source = vi.fn(async (isStale: boolean) => (isStale ? 'new' : 'old'));
  const answer = async (_: string, { headers }: { readonly headers: Readonly<Record<string, string>> }) =>
    headers['authorization'] === 'Bearer new' ? new Response('x') : new Response('', { status: 401 });
  vi.stubGlobal('fetch', answer);
  const files = new Files(source);
  const read = await Promise.all(['a', 'b', 'c'].map((ref) => files.read(ref)));
  expect(read.map(({ size }) => size)).toEqual([1, 1, 1]);
  expect(source.mock.calls).toEqual([[false], [true]]);
});

it('sends nothing for a file that was removed while its token was fetched', async () => {
  const request = vi.fn();
  vi.stubGlobal('XMLHttpRequest', request);
  const token = Promise.withResolvers<string | null>();
  const removed = new AbortController();
  const sent = new Files(() => token.promise).upload(new File(['x'], 'a.txt'), {
    ...{ onProgress: () => undefined, signal: removed.signal },
  });
  removed.abort();
  token.resolve('t');
  await expect(sent).rejects.toThrow('could not be sent');
  expect(request).not.toHaveBeenCalled();
});
