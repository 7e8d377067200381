import { readdirSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** CPU seconds (user and system) that a process, and with `children` its direct children, have used so far. Linux. */
export function cpuSeconds(pid: number, children = false): number {
  let ticks = ticksOf(pid);
  if (children) for (const child of childrenOf(pid)) ticks += ticksOf(child);
  return ticks / TICKS_PER_SECOND;
}

function ticksOf(pid: number): number {
  const fields = statOf(pid);
  return fields === null ? 0 : Number(fields[11]) + Number(fields[12]);
}

/** Fields of /proc/PID/stat after the name; [1] is the parent. A process may end while it is read. */
function statOf(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ESRCH')) return null;
    throw error;
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(statOf(Number(name))?.[1]) === pid)
    .map(Number);
}
