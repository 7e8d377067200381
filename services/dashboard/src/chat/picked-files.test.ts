import { expect, it, vi } from 'vitest';
import { FileFault, type UploadOptions } from './files.ts';
import { PickedFiles } from './picked-files.ts';
import { sizeWords } from './size-words.ts';

function scene() {
  const sending: { file: File; options: UploadOptions; arrive: () => void; fail: (fault: Error) => void }[] = [];
  const upload = (file: File, options: UploadOptions) =>
    new Promise<{ id: string; name: string; mime: string; size: number }>((resolve, reject) => {
      const arrive = () => resolve({ id: `att_${file.name}`, name: file.name, mime: file.type, size: file.size });
      sending.push({ file, options, arrive, fail: reject });
    });
  const picked = new PickedFiles({ files: { upload }, fileBytesMax: 10, filesMax: 2 });
  return { sending, picked, states: () => picked.state().picked.map(({ state }) => state) };
}

const named = (name: string, text = 'text') => new File([text], name);

it('sends what is chosen at once, and gives a message those that are there', async () => {
  const { sending, picked, states } = scene();
  picked.add([named('a'), named('b')]);
  sending[0]?.options.onProgress(0.5);
  expect(picked.state().picked.map(({ progress }) => progress)).toEqual([0.5, 0]);
  sending[0]?.arrive();
  await vi.waitFor(() => expect(states()).toEqual(['sent', 'sending']));
  expect(picked.state().news).toBe('a is attached.');
  expect(picked.take().map(({ id }) => id)).toEqual(['att_a']);
  expect(states()).toEqual(['sending']);
});

it('sends nothing that cannot be taken, and says why', () => {
  const { sending, picked } = scene();
  picked.add([named('large', 'x'.repeat(11)), named('empty', '')]);
  expect(sending).toEqual([]);
  expect(picked.state().picked.map(({ fault }) => fault)).toEqual([
    'is too large: 11 bytes of at most 10 bytes',
    'is empty, or a folder',
  ]);
  picked.retry();
  expect(sending).toEqual([]);
  picked.add([named('more')]);
  expect(picked.state().alert).toBe('A message takes 2 files: 1 not added.');
});

it('tries again what may work then', async () => {
  const { sending, picked, states } = scene();
  picked.add([named('a')]);
  sending[0]?.fail(new FileFault('could not be sent', { isPassing: true }));
  await vi.waitFor(() => expect(states()).toEqual(['failed']));
  picked.retry();
  expect(states()).toEqual(['sending']);
  sending[1]?.arrive();
  await vi.waitFor(() => expect(states()).toEqual(['sent']));
});

it('hears nothing more of what was removed', async () => {
  const { sending, picked } = scene();
  picked.add([named('a')]);
  picked.remove(picked.state().picked[0]?.key ?? -1);
  expect(sending[0]?.options.signal.aborted).toBe(true);
  sending[0]?.arrive();
  await Promise.resolve();
  expect(picked.state().picked).toEqual([]);
});

it.each([
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1024, '1 kB'],
  [1_048_575, '1 MB'],
  [20 * 1024 * 1024, '20 MB'],
  [1.25 * 1024 * 1024, '1.3 MB'],
])('writes %d bytes as %s', (bytes, words) => {
  expect(sizeWords(bytes)).toBe(words);
});
