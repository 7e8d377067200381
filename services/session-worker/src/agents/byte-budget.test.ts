import { expect, it } from 'vitest';
import { ByteBudget } from './byte-budget.ts';

const signal = new AbortController().signal;

it('gives what is left, and lets others wait in order', async () => {
  const budget = new ByteBudget(10);
  const order: string[] = [];
  const giveBack = await budget.take(8, signal);
  const large = budget.take(9, signal).then((back) => {
    order.push('large');
    back();
  });
  const small = budget.take(1, signal).then(() => order.push('small'));
  await Promise.resolve();
  expect(order).toEqual([]);
  giveBack();
  giveBack();
  await Promise.all([large, small]);
  expect(order).toEqual(['large', 'small']);
});

it('keeps nothing for who has gone, and lets one have all that asks for more than there is', async () => {
  const budget = new ByteBudget(10);
  const giveBack = await budget.take(99, signal);
  const gone = new AbortController();
  const left = budget.take(5, gone.signal);
  gone.abort(new Error('gone'));
  await expect(left).rejects.toThrow('gone');
  giveBack();
  await budget.take(10, signal);
});
