import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockData } from './data-lock.ts';
import { choosePorts, reserveInternalPorts } from './ports.ts';
import { loadSecrets } from './secrets.ts';
import { UpFile, type UpReport } from './up-file.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tk-up-'));
});
afterEach(() => rm(folder, { recursive: true }));

const modeOf = async (name: string) => ((await stat(join(folder, name))).mode & 0o777).toString(8);

describe('secrets', () => {
  it('are made once, of the right form, for their owner only', async () => {
    const first = await loadSecrets(folder);
    expect(first.apiKey).toMatch(/^tk_[a-z0-9]{8,32}_[A-Za-z0-9]{32,}$/);
    expect(first.operatorKey).toMatch(/^tkop_[a-z0-9]{8,32}_[A-Za-z0-9]{32,}$/);
    expect(Buffer.from(first.masterKey, 'base64')).toHaveLength(32);
    expect(await modeOf('secrets.json')).toBe('600');
    expect(await loadSecrets(folder)).toEqual(first);
  });

  it('are not replaced when their file is damaged: the database needs the old ones', async () => {
    await writeFile(join(folder, 'secrets.json'), '{"pepper":1}');
    await expect(loadSecrets(folder)).rejects.toMatchObject({ exitCode: 1 });
    expect(await readFile(join(folder, 'secrets.json'), 'utf8')).toBe('{"pepper":1}');
  });
});

describe('the lock of a data folder', () => {
  it('is free again after its release, and taken over from the dead', async () => {
    const release = await lockData(folder);
    await release();
    await writeFile(join(folder, 'up.pid'), '999999999');
    await (await lockData(folder))();
    expect(await readdir(folder)).toEqual([]);
  });

  it('is not taken from another program that has the number of a dead one by now', async () => {
    await writeFile(join(folder, 'up.pid'), String(process.ppid));
    await (await lockData(folder))();
  });
});

describe('ports', () => {
  it('a wanted one that is taken is refused, the default moves on', async () => {
    const taken = createServer().listen(0);
    const address = taken.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    await expect(choosePorts(1, port)).rejects.toThrow(`Port ${port} is taken`);
    taken.close();
    const [first, second] = await choosePorts(2, undefined);
    expect(first).toBeGreaterThanOrEqual(8420);
    expect(second).toBeGreaterThan(first ?? 0);
  });
});

it('internal ports are known before they are used, with some to spare', async () => {
  const ports = await reserveInternalPorts(3, Math.random);
  const taken = Array.from({ length: 8 }, () => ports.take());
  expect(taken.slice(0, 7)).toEqual(ports.all);
  expect(new Set(ports.all).size).toBe(7);
  expect(taken[7]).toBeNull();
});

describe('up.json', () => {
  it('holds the last report whole, for its owner only, and can be removed', async () => {
    const file = new UpFile(folder);
    const report = (pid: number) => ({ processes: [{ name: 'postgres', pid }] }) as unknown as UpReport;
    await Promise.all([file.write(report(1)), file.write(report(2)), file.write(report(3))]);
    expect(JSON.parse(await readFile(file.path, 'utf8'))).toEqual(report(3));
    expect(await modeOf('up.json')).toBe('600');
    expect(await readdir(folder)).toEqual(['up.json']);
    await file.remove();
    await file.remove();
    expect(await readdir(folder)).toEqual([]);
  });
});
