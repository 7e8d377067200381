import { AppError, StoreError } from '@turnkeeper/core';
import { expect, test } from 'vitest';
import { keepsConnection, toStoreError } from './store-error.ts';

const failed = (code?: string) => Object.assign(new Error('x'), code === undefined ? {} : { code });

test.each([
  ['22P05', 'row'],
  ['23505', 'row'],
  ['54000', 'row'],
  ['42501', 'row'],
  ['40001', 'busy'],
  ['40P01', 'busy'],
  ['55P03', 'busy'],
  ['08006', 'unknown'],
  ['57P01', 'unknown'],
  ['57014', 'unknown'],
  ['53300', 'unknown'],
  ['ECONNREFUSED', 'unknown'],
  ['ECONNRESET', 'unknown'],
])('SQLSTATE %s means %s', (state, failure) => {
  const error = toStoreError(failed(state));
  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({
    failure,
    state,
    retryable: failure !== 'row',
    code: failure === 'row' ? 'invalid_field' : 'store_unavailable',
  });
});

test('an answer that never came is unknown', () => {
  expect(toStoreError(failed())).toMatchObject({ failure: 'unknown', state: 'no_answer' });
});

test('a statement that cannot be right is a fault of the program', () => {
  const error = toStoreError(failed('42601'));
  expect(error).not.toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code: 'internal' });
});

test('an error that was translated before stays as it is', () => {
  const error = new AppError({ code: 'schema_mismatch', message: 'x' });
  expect(toStoreError(error)).toBe(error);
});

test('a refused statement keeps its connection, everything else costs it', () => {
  expect(['22P05', '40P01', '55P03', '42601'].map((state) => keepsConnection(failed(state)))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([undefined, 'ECONNRESET', '57P01', '57014'].map((state) => keepsConnection(failed(state)))).toEqual([
    false,
    false,
    false,
    false,
  ]);
});
