export type Phase = 'starting' | 'ready' | 'draining';

/** Where a process stands in its life; `/readyz` is 200 only while `ready`. It never goes back. */
export interface Readiness {
  readonly phase: Phase;
  /** Moves on; a step backwards is ignored. */
  enter(phase: 'ready' | 'draining'): void;
}

const ORDER: Readonly<Record<Phase, number>> = { starting: 0, ready: 1, draining: 2 };

export function createReadiness(): Readiness {
  let phase: Phase = 'starting';
  return {
    get phase() {
      return phase;
    },
    enter: (next) => {
      if (ORDER[next] > ORDER[phase]) phase = next;
    },
  };
}
