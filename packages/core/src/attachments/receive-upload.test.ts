import { describe, expect, it } from 'vitest';
import type { TenantId } from '../ids.ts';
import { ReceiveUpload, type Upload } from './receive-upload.ts';

/** A sender that has begun and sends nothing. */
const silent: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }),
};
const empty: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

function uploadOf(tenant: string, body: AsyncIterable<Uint8Array>): Upload {
  const from = { tenantId: tenant as TenantId, owner: 'o', name: 'a', mime: null };
  return { ...from, announcedBytes: 10, body, idempotency: null };
}

describe('uploads at once', () => {
  it('are never all one tenant’s, however slowly it sends', async () => {
    const uploads = new ReceiveUpload({ fileBytesMax: 100, uploadsMax: 4 } as never);
    for (let i = 0; i < 3; i++) void uploads.receive(uploadOf('slow', silent));
    await expect(uploads.receive(uploadOf('slow', empty))).rejects.toMatchObject({ code: 'overloaded' });
    // it was let in: what is wrong is its body
    await expect(uploads.receive(uploadOf('other', empty))).rejects.toMatchObject({ code: 'upload_incomplete' });
  });
});
