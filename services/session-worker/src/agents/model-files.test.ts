import { type AttachmentId, type AttachmentRecord, formatId, type TenantId } from '@turnkeeper/core';
import { settled, VirtualClock } from '@turnkeeper/core/testing';
import { expect, it, vi } from 'vitest';
import { ByteBudget } from './byte-budget.ts';
import { readModelFiles } from './model-files.ts';

const tenantId = 'tenant' as TenantId;
const idOf = (n: number) => `01890000-0000-7000-8000-${String(n).padStart(12, '0')}` as AttachmentId;
const refOf = (n: number) => formatId('att', idOf(n));

/** Files whose id is their place. */
function scene(
  files: readonly { readonly name: string; readonly mime: string; readonly bytes: Uint8Array | string }[],
) {
  const all = files.map(({ name, mime, bytes }, n) => {
    const content = typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
    return { content, record: { attachmentId: idOf(n), name, mime, size: content.length } as AttachmentRecord };
  });
  const gone = new Set<AttachmentId>();
  const read = vi.fn(async (_: TenantId, id: AttachmentId, index: number) => {
    const { content } = all.find(({ record }) => record.attachmentId === id) ?? { content: new Uint8Array() };
    return gone.has(id) ? null : content.subarray(index * 100_000, (index + 1) * 100_000);
  });
  const find = async (_: TenantId, ids: readonly AttachmentId[]) =>
    all.flatMap(({ record }) => (ids.includes(record.attachmentId) ? [record] : []));
  const bodies = all.map((_, n) => ({ text: '', attachments: [{ kind: 'file', ref: refOf(n), name: `named ${n}` }] }));
  const alive = vi.fn();
  const gaveUp = new AbortController();
  const budget = new ByteBudget({ bytesMax: 1e9, tenantBytesMax: 1e9 });
  const clock = new VirtualClock();
  const ask = async (takesImages: boolean, given: readonly unknown[] = bodies) => {
    const wanted = { tenantId, bodies: given, takesImages, signal: gaveUp.signal, alive };
    const { partsOf } = await readModelFiles(wanted, { attachments: { find, read }, budget, clock });
    return given.flatMap((one) => partsOf(one)).map((part) => (part.type === 'text' ? part.text : part.mediaType));
  };
  return { ask, read, gone, alive, budget, clock, gaveUp };
}

it('gives pictures to a model that takes them, and texts to every one', async () => {
  const files = [
    { name: 'pier.png', mime: 'image/png', bytes: Uint8Array.of(1, 2) },
    { name: 'a.csv', mime: 'text/csv', bytes: 'a,ü' },
    { name: 'logo.svg', mime: 'image/svg+xml', bytes: '<svg/>' },
  ];
  const texts = ['[File a.csv, text/csv, 4 bytes]\na,ü\n[End of a.csv]', expect.stringContaining('<svg/>')];
  expect(await scene(files).ask(true)).toEqual(['image/png', ...texts]);
  const told = '[File pier.png, image/png, 2 bytes: its content is not shown here]';
  expect(await scene(files).ask(false)).toEqual([told, ...texts]);
});

it('tells of what it cannot show: another kind, no text, too large, of a platform, gone', async () => {
  const { ask, gone, read } = scene([
    { name: 'song.mp3', mime: 'audio/mpeg', bytes: 'x' },
    { name: 'latin.txt', mime: 'text/plain', bytes: Uint8Array.of(0xe9, 0x20) },
    { name: 'large.png', mime: 'image/png', bytes: new Uint8Array(6 * 1024 * 1024) },
    { name: 'gone.txt', mime: 'text/plain', bytes: 'x' },
  ]);
  gone.add(idOf(3));
  const parts = await ask(true);
  expect(parts.every((part) => part?.endsWith(': its content is not shown here]'))).toBe(true);
  expect(read).toHaveBeenCalledTimes(2);
  const others = [{ attachments: [{ ref: 'https://platform.example/1', name: 'voice.ogg' }, { ref: refOf(77) }, 5] }];
  expect(await ask(true, others)).toEqual([
    '[File voice.ogg: its content is not shown here]',
    '[File without a name: no longer there]',
  ]);
});

it('cuts a long text, never within a character, and gives the newest when all are too many', async () => {
  const long = { name: 'long.txt', mime: 'text/plain', bytes: 'ü'.repeat(100_000) };
  const [cut] = await scene([long]).ask(false);
  expect(cut).toMatch(
    /^\[File long\.txt, text\/plain, 200000 bytes, the first 65536 bytes of it\]\nü+\n\[End of long\.txt\]$/,
  );
  const many = await scene(Array.from({ length: 6 }, () => long)).ask(false);
  expect(many.map((part) => part?.includes('not shown'))).toEqual([true, true, false, false, false, false]);
});

const note = { name: 'a.txt', mime: 'text/plain', bytes: 'x' };

it('waits for room, and shows life meanwhile', async () => {
  const { ask, alive, budget, clock } = scene([note]);
  const giveBack = await budget.take(tenantId, 1e9, new AbortController().signal);
  const answer = ask(false);
  await clock.advance(2_000);
  expect(alive).toHaveBeenCalledTimes(4);
  giveBack();
  expect(await answer).toEqual([expect.stringContaining('[End of a.txt]')]);
  expect(clock.sleeping).toBe(0);
});

it('only names the files of a turn that has waited for room for long, and holds nothing then', async () => {
  const { ask, read, budget, clock } = scene([note]);
  const giveBack = await budget.take(tenantId, 1e9, new AbortController().signal);
  const answer = ask(false);
  await clock.advance(10_000);
  expect(await answer).toEqual(['[File a.txt, text/plain, 1 bytes: its content is not shown here]']);
  expect(read).not.toHaveBeenCalled();
  giveBack();
  await budget.take(tenantId, 1e9, new AbortController().signal);
});

it('waits no longer than anybody waits for the turn', async () => {
  const { ask, budget, clock, gaveUp } = scene([note]);
  await budget.take(tenantId, 1e9, new AbortController().signal);
  const answer = ask(false);
  await settled();
  gaveUp.abort(new Error('stopped'));
  await expect(answer).rejects.toThrow('stopped');
  expect(clock.sleeping).toBe(0);
});
