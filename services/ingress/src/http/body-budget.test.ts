import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { BodyBudget } from './body-budget.ts';

const ANNOUNCED = 100_000;

/** A request of which nothing has come yet; `tenant`: null for a sender who has not said who he is. */
function sender(budget: BodyBudget, tenant: string | null, { atHookOf }: { readonly atHookOf?: string } = {}) {
  const raw = new PassThrough();
  const caller = tenant === null ? null : { tenant: { tenantId: tenant } };
  const hook = atHookOf === undefined ? null : { tenant: { tenantId: atHookOf } };
  const request = { headers: { 'content-length': String(ANNOUNCED) }, caller, hook };
  const body = new PassThrough({ highWaterMark: ANNOUNCED });
  const counted = budget.counted(request as never, { raw } as never, body);
  const ended = once(counted.resume(), 'end').then(
    () => 'read',
    (error) => error.code,
  );
  return {
    send: (bytes: number) => void body.write(Buffer.alloc(bytes)),
    end: (bytes: number) => {
      body.end(Buffer.alloc(bytes));
      return ended;
    },
    ended,
    answered: async () => void (await once(raw.destroy(), 'close')),
  };
}

describe('the memory for bodies', () => {
  it('is not taken by what is announced and does not come', async () => {
    const budget = new BodyBudget(2 * ANNOUNCED);
    const silent = Array.from({ length: 100 }, () => sender(budget, null));
    for (const { send } of silent) send(1);
    expect(await sender(budget, 'a').end(ANNOUNCED)).toBe('read');
  });

  it.each(['flood', null])('is never all of it one tenant’s, nor theirs who have none (%s)', async (flood) => {
    const budget = new BodyBudget(2 * ANNOUNCED);
    sender(budget, flood).send(ANNOUNCED);
    expect(await sender(budget, flood).end(1)).toBe('overloaded');
    expect(await sender(budget, 'other').end(ANNOUNCED)).toBe('read');
  });

  it('is not taken from a tenant by those who know the address of its hook', async () => {
    const budget = new BodyBudget(2 * ANNOUNCED);
    sender(budget, null, { atHookOf: 'a' }).send(ANNOUNCED);
    expect(await sender(budget, null, { atHookOf: 'a' }).end(1)).toBe('overloaded');
    expect(await sender(budget, 'a').end(ANNOUNCED)).toBe('read');
  });

  it('is free again when the request is over', async () => {
    const budget = new BodyBudget(2 * ANNOUNCED);
    const first = sender(budget, 'a');
    expect(await first.end(ANNOUNCED)).toBe('read');
    expect(await sender(budget, 'a').end(ANNOUNCED)).toBe('overloaded');
    await first.answered();
    expect(await sender(budget, 'a').end(ANNOUNCED)).toBe('read');
  });
});
