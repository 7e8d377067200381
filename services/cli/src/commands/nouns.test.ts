import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Command } from 'commander';
import { afterEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { registerDeliveries } from './deliveries.ts';
import { registerNoun } from './nouns.ts';

type Page = { readonly data: readonly unknown[]; readonly nextCursor: string | null };

const asked: URLSearchParams[] = [];
let answer: (query: URLSearchParams) => Page;
const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '', 'http://localhost');
  asked.push(searchParams);
  response.end(JSON.stringify(answer(searchParams)));
});

afterEach(() => {
  asked.length = 0;
  vi.restoreAllMocks();
  server.close();
  server.closeAllConnections();
});

/** What the command wrote to its standard output and to its standard error. */
async function run(register: (program: Command) => void, ...words: string[]): Promise<{ out: string; hints: string }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const out = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const err = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const program = new Command();
  register(program);
  await program.parseAsync([...words, '--url', `http://127.0.0.1:${port}`, '--key', 'tk_x'], { from: 'user' });
  return { out: out.mock.calls.join(''), hints: err.mock.calls.join('') };
}

const days = (program: Command) => {
  registerNoun(program, {
    ...{ noun: 'days', description: '', door: 'tenant', path: '/days', getBy: 'day' },
    row: z.object({ day: z.string(), agent: z.string() }),
    columns: [{ title: 'agent', of: ({ agent }) => agent }],
    isNamed: ({ day }, name) => day === name,
    namesMany: true,
  });
};

it('a list whose pages stay empty ends, and says that there may be more', async () => {
  answer = () => ({ data: [], nextCursor: 'on' });
  const { hints } = await run(days, 'days', 'list', '--output', 'table');
  expect(asked).toHaveLength(101);
  expect(hints).toContain('there may be more');
});

it('a name that means several rows shows them all, across pages', async () => {
  const pages: Record<string, Page> = {
    '': {
      data: [
        { day: '2', agent: 'x' },
        { day: '1', agent: 'a' },
      ],
      nextCursor: 'b',
    },
    b: { data: [], nextCursor: 'c' },
    c: {
      data: [
        { day: '1', agent: 'b' },
        { day: '0', agent: 'x' },
      ],
      nextCursor: 'd',
    },
  };
  answer = (query) => pages[query.get('cursor') ?? ''] ?? { data: [], nextCursor: null };
  const { out } = await run(days, 'days', 'get', '1', '--output', 'table');
  expect(out.match(/\b[abx]\b/g)).toEqual(['a', 'b']);
  expect(asked).toHaveLength(3);
});

it.each([
  ['what is an id is asked for', '7', null],
  ['another name is looked for in the list', 'a', '200'],
])('%s', async (_, name, limit) => {
  const lanes = (program: Command) =>
    registerNoun(program, {
      ...{ noun: 'lanes', description: '', door: 'tenant', path: '/lanes', getBy: 'lane', columns: [] },
      row: z.object({ key: z.string() }),
      isNamed: ({ key }, asked) => key === asked,
      isId: (asked) => asked === '7',
    });
  answer = () => ({ data: [{ key: 'a' }], nextCursor: null });
  await run(lanes, 'lanes', 'get', name, '--output', 'json');
  expect(asked.map((query) => query.get('limit'))).toEqual([limit]);
});

it('a conversation is named as in paths, so that a key that looks like an id is one', async () => {
  answer = () => ({ data: [], nextCursor: null });
  await run(registerDeliveries, 'deliveries', 'list', '--session', '~a key');
  expect(asked[0]?.get('session')).toBe(`~${Buffer.from('~a key').toString('base64url')}`);
});
