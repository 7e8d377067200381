/** Something the leader does again and again. Looks at what is true now, so it may be run twice, late, or by two leaders. */
export interface Sweep {
  readonly name: string;
  /** A run that takes longer is given up; its statements end by their own deadlines. */
  readonly deadlineMs: number;
  /**
   * Looks and repairs; the signal is looked at between statements. Answers what had to be repaired, by kind: nothing in a
   * steady cluster. @throws StoreError
   */
  run(signal: AbortSignal): Promise<Readonly<Record<string, number>>>;
  /** The term is over: what only the leader tells must not stand there any longer. */
  end?(): void;
}

/** Sweeps that follow one another, because each goes on from what the one before it found. */
export interface SweepGroup {
  readonly everyMs: number;
  readonly sweeps: readonly Sweep[];
}
