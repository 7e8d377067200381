import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { trackedFiles } from '../tracked-files.ts';

/** How a gate ended, and what it said. */
export interface GateOutcome {
  readonly passed: boolean;
  readonly output: string;
}

/** A copy of the repository in which a gate can be shown a fault. Libraries are linked, members are the copy's own. */
export class PlantedCopy {
  readonly #dir: string;

  constructor() {
    this.#dir = realpathSync(mkdtempSync(join(tmpdir(), 'turnkeeper-selftest-')));
    for (const path of trackedFiles(['.'])) {
      mkdirSync(dirname(join(this.#dir, path)), { recursive: true });
      cpSync(path, join(this.#dir, path));
    }
    spawnSync('git', ['init', '-q'], { cwd: this.#dir });
    this.#linkLibraries('.');
    for (const member of ['packages', 'services', 'test'].flatMap((group) => membersOf(group))) {
      this.#linkLibraries(member);
    }
  }

  /** Writes the files, runs `npm run GATE` in the copy, and puts back what was there. */
  runGate(gate: string, planted: Readonly<Record<string, string>> = {}): GateOutcome {
    const restores = Object.entries(planted).map(([path, text]) => this.#plant(path, text));
    const { status, stdout, stderr } = spawnSync('npm', ['run', ...gate.split(' ')], {
      cwd: this.#dir,
      encoding: 'utf8',
    });
    for (const restore of restores) restore();
    return { passed: status === 0, output: `${stdout}${stderr}` };
  }

  #plant(path: string, text: string): () => void {
    const target = join(this.#dir, path);
    const before = existsSync(target) ? readFileSync(target) : undefined;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
    return () => (before === undefined ? rmSync(target) : writeFileSync(target, before));
  }

  remove(): void {
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #linkLibraries(member: string): void {
    const source = join(member, 'node_modules');
    if (!existsSync(source)) return;
    const target = join(this.#dir, source);
    mkdirSync(target, { recursive: true });
    for (const entry of readdirSync(source)) {
      if (entry === '@turnkeeper')
        cpSync(join(source, entry), join(target, entry), { recursive: true, verbatimSymlinks: true });
      else if (entry !== '.cache') symlinkSync(realpathSync(join(source, entry)), join(target, entry));
    }
  }
}

function membersOf(group: string): string[] {
  return readdirSync(group).map((name) => join(group, name));
}
