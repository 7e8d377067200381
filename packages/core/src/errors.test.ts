import { expect, it } from 'vitest';
import { AppError, fieldsBelow, fieldsError } from './errors.ts';

it('an error about several places says all of them, and each keeps its own words below another place', () => {
  const error = fieldsError('config_invalid', [
    { pointer: '/options', code: 'invalid_field', why: 'must name a way; /none is no way' },
    { pointer: '/secrets/secret', code: 'missing_field', why: 'is missing' },
  ]);
  expect(error.message).toBe('/options: must name a way; /none is no way; /secrets/secret: is missing');
  const fields = fieldsBelow('/accounts/1', error);
  expect(fields).toEqual([
    { pointer: '/accounts/1/options', code: 'invalid_field', why: 'must name a way; /none is no way' },
    { pointer: '/accounts/1/secrets/secret', code: 'missing_field', why: 'is missing' },
  ]);
});

it('an error that only speaks as a whole says so at its place, or at each of its places', () => {
  const whole = new AppError({ code: 'config_invalid', message: 'cannot be' });
  expect(fieldsBelow('/accounts/0', whole)).toEqual([
    { pointer: '/accounts/0', code: 'config_invalid', why: 'cannot be' },
  ]);
  const placed = new AppError({
    ...{ code: 'config_invalid', message: 'no such channel' },
    fields: [{ pointer: '/channel', code: 'invalid_field' }],
  });
  expect(fieldsBelow('/accounts/0', placed)).toEqual([
    { pointer: '/accounts/0/channel', code: 'invalid_field', why: 'no such channel' },
  ]);
});
