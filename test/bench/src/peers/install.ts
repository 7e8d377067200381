import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../peers/', import.meta.url));

/** Installs what Turnkeeper is measured beside (270 MB), unless it is there. @throws Error when npm fails */
export async function installPeers(): Promise<void> {
  if (existsSync(`${FOLDER}node_modules/groupmq`)) return;
  process.stderr.write('installing the peers, once …\n');
  const npm = spawn('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: FOLDER,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(npm, 'exit');
  if (code !== 0) throw new Error(`npm ci of the peers ended with ${code}`);
}
