import { statfs } from 'node:fs/promises';
import { type Finding, isAtLeast } from './finding.ts';

const NODE_MIN = [22, 22, 2];
const FREE_BYTES_MIN = 2 * 1024 ** 3;
const GIB = 1024 ** 3;

export function checkNode(version: string): Finding {
  const found = version.replace(/^v/, '');
  if (isAtLeast(found, NODE_MIN)) return { name: 'Node', state: 'ok', found };
  return { name: 'Node', state: 'bad', found, advice: 'run npm ci: it brings Node 24 along, and npx uses it' };
}

/** Room where `turnkeeper up` keeps the database. */
export async function checkDisk(folder: string): Promise<Finding> {
  const name = 'disk';
  const stats = await statfs(folder).catch(() => null);
  if (!stats) return { name, state: 'unknown', found: `${folder} is not there yet` };
  const freeBytes = stats.bavail * stats.bsize;
  const found = `${(freeBytes / GIB).toFixed(1)} GiB free`;
  if (freeBytes >= FREE_BYTES_MIN) return { name, state: 'ok', found };
  return { name, state: 'warn', found, advice: 'make room: the database stops accepting when the disk is full' };
}
