import { expect, it } from 'vitest';
import { CliError } from './exit.ts';
import { resolveTarget } from './target.ts';

const urlOf = async (url: string) => (await resolveTarget({ url, key: 'k', data: '/nowhere' })).tenant().url;

it('an address needs no scheme, and one that is none is told before anybody is asked', async () => {
  expect(await urlOf('127.0.0.1:8420')).toBe('http://127.0.0.1:8420');
  expect(await urlOf('localhost:8420/, https://b.example/')).toBe('http://localhost:8420,https://b.example');
  for (const none of ['ftp://a', 'two words', '', 'http://']) await expect(urlOf(none)).rejects.toThrow(CliError);
});
