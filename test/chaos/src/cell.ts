import { type Fault, faults } from './faults.ts';
import { arm, held, PHASES, type Phase } from './phases.ts';
import { type Load, revive, type Stage, type Trial, underLoad } from './stage.ts';

export interface Cell {
  readonly name: string;
  readonly fault: Fault;
  readonly phase: Phase;
}

/** The matrix: each fault in each phase. `only`: a part of the name. */
export function cells(absenceMs: number, only = ''): readonly Cell[] {
  const all = faults(absenceMs).flatMap((fault) =>
    PHASES.map((phase) => ({ name: `${fault.name}, ${phase.name}`, fault, phase })),
  );
  return all.filter(({ name }) => name.includes(only));
}

/** One cell of the matrix: under load, a node is held in the phase, and the fault strikes then. */
export async function trialOf(
  stage: Stage,
  { fault, phase }: Pick<Cell, 'fault' | 'phase'>,
  load: Pick<Load, 'ratePerSecond' | 'lanes'>,
): Promise<Trial> {
  const node = await arm(stage, phase);
  // turns must last to be met in flight
  const shape = { ...load, seconds: fault.seconds, delayMs: phase.point === null ? 400 : 50 };
  const since = new Date();
  const heldBootId = node.bootId;
  const strike = async () => {
    try {
      await held(node, phase);
      await fault.strike(stage, node, phase);
    } finally {
      // what comes next needs it, whatever became of this
      node.signal('SIGCONT');
      if (!node.alive) await node.restart();
    }
  };
  const trial = await struck(stage, shape, strike);
  await fault.aftermath?.(stage, heldBootId, since);
  return trial;
}

/** Whatever comes of it, the next cell finds every process alive. */
async function struck(stage: Stage, shape: Parameters<typeof underLoad>[1], strike: () => Promise<void>) {
  try {
    return await underLoad(stage, shape, strike);
  } finally {
    await revive(stage.cluster);
  }
}
