import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FAULT_ASSERTIONS, type Fault, type Variant } from './variants.ts';

const run = promisify(execFile);
const EVERY_EVENT_ENDS = 'ltl p { [] ((ev[1]==1) -> <> (ended(1))) && [] ((ev[2]==1) -> <> (ended(2))) }';

/** What an exhaustive search found. `unfinished` is no verdict: cut off by time, memory or depth. */
export interface Exploration {
  readonly verdict: 'holds' | Fault | 'unfinished' | `unknown error: ${string}`;
  readonly states: number;
  /** The last lines of the checker, for a person. */
  readonly log: string;
}

export interface ExploreOptions {
  readonly spin: string;
  readonly limitMs: number;
  readonly memoryMbMax: number;
}

/** Builds the checker of one variant with spin and the C compiler, and lets it visit every reachable state. */
export async function explore(variant: Variant, options: ExploreOptions): Promise<Exploration> {
  const dir = await mkdtemp(join(tmpdir(), 'turnkeeper-model-'));
  try {
    await build(variant, dir, options);
    return readLog(await search(variant, dir, options.limitMs));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function build(variant: Variant, dir: string, { spin, memoryMbMax }: ExploreOptions): Promise<void> {
  const source = await readFile(join(import.meta.dirname, '..', `${variant.model}.pml`), 'utf8');
  await writeFile(join(dir, 'model.pml'), variant.liveness === true ? `${source}\n${EVERY_EVENT_ENDS}\n` : source);
  const defines = Object.entries(variant.defines).map(([name, value]) => `-D${name}=${value}`);
  await run(spin, ['-Pcc -E -x c', ...defines, '-a', 'model.pml'], { cwd: dir });
  const mode = variant.liveness === true ? '-DNFAIR=4' : '-DSAFETY';
  // Most of the time goes into the C compiler: only the long searches are worth optimising.
  const optimise = memoryMbMax > 2000 ? '-O2' : '-O0';
  await run(
    'cc',
    [optimise, '-w', mode, '-DCOLLAPSE', '-DVECTORSZ=2048', `-DMEMLIM=${memoryMbMax}`, '-o', 'pan', 'pan.c'],
    {
      cwd: dir,
    },
  );
}

async function search(variant: Variant, dir: string, limitMs: number): Promise<string> {
  const mode = variant.liveness === true ? ['-a', '-f'] : [];
  try {
    const { stdout } = await run('./pan', [...mode, '-E', '-m2000000', '-w20'], { cwd: dir, timeout: limitMs });
    return stdout;
  } catch (error) {
    if (error instanceof Error && 'stdout' in error) return `${String(error.stdout)}\nsearch cut off`;
    throw error;
  }
}

function readLog(log: string): Exploration {
  const states = Number(/(\d+(?:\.\d+e\+\d+)?) states, stored/.exec(log)?.[1] ?? 0);
  return { verdict: verdictOf(log), states, log: log.slice(-2000) };
}

function verdictOf(log: string): Exploration['verdict'] {
  if (/search cut off|max search depth too small|reached -DMEMLIM|out of memory/.test(log)) return 'unfinished';
  const errors = Number(/errors: (\d+)/.exec(log)?.[1] ?? Number.NaN);
  if (errors === 0) return 'holds';
  const said = /^pan:\d+: (.*)$/m.exec(log)?.[1] ?? 'no verdict';
  const faults = Object.entries(FAULT_ASSERTIONS) as [Fault, readonly RegExp[]][];
  return faults.find(([, texts]) => texts.some((text) => text.test(said)))?.[0] ?? `unknown error: ${said}`;
}
