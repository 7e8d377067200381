import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDataFolder } from './data-folder.ts';

describe('the data folder', () => {
  it('is made with those above it, and may be there', async () => {
    const top = await mkdtemp(join(tmpdir(), 'data-folder-'));
    await makeDataFolder(join(top, 'a/b/c'));
    await makeDataFolder(join(top, 'a/b/c'));
    expect((await stat(join(top, 'a/b/c'))).isDirectory()).toBe(true);
    await rm(top, { recursive: true });
  });

  it('is refused where none can be made, at once', async () => {
    const top = await mkdtemp(join(tmpdir(), 'data-folder-'));
    await writeFile(join(top, 'file'), '');
    for (const folder of ['/proc/nothing/here', join(top, 'file/folder')]) {
      await expect(makeDataFolder(folder)).rejects.toThrow(`${folder} cannot be made`);
    }
    await rm(top, { recursive: true });
  });
});
