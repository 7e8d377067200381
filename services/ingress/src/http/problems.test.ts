import { silentLogger } from '@turnkeeper/core/testing';
import { describe, expect, it } from 'vitest';
import { judged } from './problems.ts';

function judgedAt(raw: { readonly destroyed: boolean; readonly complete: boolean }) {
  const logged: unknown[] = [];
  const request = { raw, id: 'req-1', routeOptions: { url: '/v1/uploads' } };
  const logger = { ...silentLogger, failed: (error: unknown) => void logged.push(error) };
  const problem = judged(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }), request as never, logger);
  return { status: problem.status, logged: logged.length };
}

describe('an error that nobody knows', () => {
  it('is a fault of the server, and logged', () => {
    expect(judgedAt({ destroyed: false, complete: true })).toEqual({ status: 500, logged: 1 });
    expect(judgedAt({ destroyed: true, complete: true })).toEqual({ status: 500, logged: 1 });
  });

  it('is none when its sender left in the middle of the body', () => {
    expect(judgedAt({ destroyed: true, complete: false })).toEqual({ status: 400, logged: 0 });
  });
});
