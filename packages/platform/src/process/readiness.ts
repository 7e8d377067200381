export type Phase = 'starting' | 'ready' | 'draining';

/** Where a process stands in its life; it never goes back. */
export interface Readiness {
  readonly phase: Phase;
  /** What `/readyz` says: `ready`, or in a word why not. */
  readonly state: string;
  /** Moves on; a step backwards is ignored. */
  enter(phase: 'ready' | 'draining'): void;
  /** Not ready, either, while this says why not. */
  unless(reason: () => string | null): void;
}

const ORDER: Readonly<Record<Phase, number>> = { starting: 0, ready: 1, draining: 2 };

export function createReadiness(): Readiness {
  let phase: Phase = 'starting';
  const reasons: (() => string | null)[] = [];
  return {
    get phase() {
      return phase;
    },
    get state() {
      if (phase !== 'ready') return phase;
      for (const reason of reasons) {
        const why = reason();
        if (why !== null) return why;
      }
      return phase;
    },
    enter: (next) => {
      if (ORDER[next] > ORDER[phase]) phase = next;
    },
    unless: (reason) => {
      reasons.push(reason);
    },
  };
}
