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
  const trial = await underLoad(stage, shape, async () => {
    try {
      await held(node, phase);
      await fault.strike(stage, node, phase);
    } finally {
      // what comes next needs it, whatever became of this
      node.signal('SIGCONT');
      if (!node.alive) await node.restart();
    }
  }).finally(async () => revive(stage.cluster));
  await fault.aftermath?.(stage, heldBootId, since);
  return trial;
}
