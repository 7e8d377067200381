// Installs the dependencies before `npm start`, `npm test` and the others when node_modules is not what
// package-lock.json says. Runs on the Node of the system, with no node_modules: built-ins and Node 20 syntax only.

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const INSTALL_MS_MAX = 10 * 60_000;

/** An expected failure, told to the user in one sentence. */
class BootstrapError extends Error {}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    await bootstrap(join(dirname(fileURLToPath(import.meta.url)), '..'));
  } catch (error) {
    if (!(error instanceof BootstrapError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

async function bootstrap(root) {
  checkPlatform();
  if (isInstalled(root)) return;
  const release = await holdInstallLock(root);
  try {
    if (!isInstalled(root)) await install(root);
  } finally {
    release();
  }
  checkNode(root);
}

/**
 * Whether node_modules holds what package-lock.json names. npm writes node_modules/.package-lock.json last,
 * so an interrupted installation does not pass; optional packages of other platforms may be missing.
 */
function isInstalled(root) {
  const installed = readJson(join(root, 'node_modules', '.package-lock.json'))?.packages;
  if (installed === undefined) return false;
  const { '': _root, ...wanted } = readJson(join(root, 'package-lock.json')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') && !path.includes('/node_modules/')) return existsSync(join(root, path));
    const there = installed[path];
    if (there === undefined) return entry.optional === true || entry.devOptional === true || entry.peer === true;
    return there.version === entry.version && there.integrity === entry.integrity && there.resolved === entry.resolved;
  });
}

function readJson(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

function checkPlatform() {
  if (process.platform === 'win32') {
    throw new BootstrapError('Turnkeeper runs on Linux and macOS; on Windows use it inside WSL.');
  }
  if (Number(process.versions.node.split('.')[0]) < 20) {
    throw new BootstrapError(`Turnkeeper needs Node 20 or newer to install itself; this is ${process.version}.`);
  }
}

/**
 * One installation at a time per checkout. The lock is a listening socket, so it goes with its process, however
 * that ends: an abstract one on Linux, elsewhere a loopback port chosen by the path of the checkout.
 */
async function holdInstallLock(root) {
  const digest = createHash('sha256').update(root).digest();
  const address =
    process.platform === 'linux'
      ? { path: `\0turnkeeper-install-${digest.toString('hex')}` }
      : { host: '127.0.0.1', port: 49_152 + (digest.readUInt16BE(0) % 16_000) };
  const deadline = Date.now() + INSTALL_MS_MAX;
  for (;;) {
    const server = await listen(address);
    if (server !== undefined) return () => server.close();
    if (Date.now() > deadline) {
      throw new BootstrapError('Another installation of this checkout has not ended in 10 minutes; stop it first.');
    }
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

function listen(address) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)));
    server.listen(address, () => resolve(server));
  });
}

async function install(root) {
  process.stderr.write('Installing dependencies (npm ci), this takes a minute the first time …\n');
  const npm = spawn('npm', ['ci', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: INSTALL_MS_MAX,
  });
  let said = '';
  npm.stderr.setEncoding('utf8').on('data', (text) => {
    said += text;
  });
  const code = await new Promise((resolve, reject) => {
    npm.once('error', () =>
      reject(new BootstrapError('npm was not found on PATH; Turnkeeper installs itself with npm.')),
    );
    npm.once('close', resolve);
  });
  if (code === 0) return;
  if (/E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH|NOTCACHED)/.test(said)) {
    throw new BootstrapError(
      'npm ci could not reach the package registry: go online once (or fill the cache of npm) and try again.',
    );
  }
  throw new BootstrapError(`npm ci failed:\n${said.trim()}`);
}

/** The workspace brings its own Node for Linux with glibc; elsewhere the Node of the system has to be new enough. */
function checkNode(root) {
  const own = join(root, 'node_modules', '.bin', 'node');
  const node = existsSync(own) ? own : process.execPath;
  const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout ?? '';
  const [major = 0, minor = 0] = version.slice(1).split('.').map(Number);
  if (major > 22 || (major === 22 && minor >= 22)) return;
  throw new BootstrapError(
    `Turnkeeper runs on Node 22.22 or newer; this system has ${version.trim() || 'one that cannot start'}.`,
  );
}
