import { expect, it } from 'vitest';
import { ByteBudget } from './byte-budget.ts';

const signal = new AbortController().signal;
const budgetOf = (bytesMax: number, tenantBytesMax = bytesMax) => new ByteBudget({ bytesMax, tenantBytesMax });

it('gives what is left, and lets others wait in order', async () => {
  const budget = budgetOf(10);
  const order: string[] = [];
  const giveBack = await budget.take('a', 8, signal);
  const large = budget.take('a', 9, signal).then((back) => {
    order.push('large');
    back();
  });
  const small = budget.take('a', 1, signal).then(() => order.push('small'));
  await Promise.resolve();
  expect(order).toEqual([]);
  giveBack();
  giveBack();
  await Promise.all([large, small]);
  expect(order).toEqual(['large', 'small']);
});

it('keeps nothing for who has gone, and lets one have all that asks for more than there is', async () => {
  const budget = budgetOf(10);
  const giveBack = await budget.take('a', 99, signal);
  const gone = new AbortController();
  const left = budget.take('a', 5, gone.signal);
  gone.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  giveBack();
  await budget.take('b', 10, signal);
});

it('lets no tenant have more than its share, nor another wait for it', async () => {
  const budget = budgetOf(8, 2);
  const held = await budget.take('slow', 99, signal);
  let gone = 0;
  const waiting = [1, 2].map(async (bytes) => {
    const back = await budget.take('slow', bytes, signal);
    gone++;
    back();
  });
  for (const tenant of ['b', 'c', 'd']) await budget.take(tenant, 2, signal);
  expect(gone).toBe(0);
  held();
  await Promise.all(waiting);
});

it('lets who waits for all that is there be passed by nobody', async () => {
  const budget = budgetOf(4, 3);
  const order: string[] = [];
  const held = await budget.take('a', 2, signal);
  const large = budget.take('b', 3, signal).then((back) => {
    order.push('b');
    back();
  });
  const small = budget.take('c', 2, signal).then(() => order.push('c'));
  await Promise.resolve();
  expect(order).toEqual([]);
  held();
  await Promise.all([large, small]);
  expect(order).toEqual(['b', 'c']);
});
