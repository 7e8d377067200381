/** npm passes a terminal's Ctrl-C on, although it has reached us already: a repetition within this time is none. */
const SAME_KEYPRESS_MS = 700;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** How often somebody has asked to stop: once = please, twice = hurry, three times = now. */
export interface StopSignals {
  /** Aborted at the first time. */
  readonly signal: AbortSignal;
  /** Resolves at the first time. */
  readonly asked: Promise<void>;
  /** What to do at the second time and at each one after. Replaces what was given before. */
  onImpatience(act: (times: number) => void): void;
  unwatch(): void;
}

export function watchStopSignals(): StopSignals {
  const stop = new AbortController();
  let times = 0;
  let lastMs = Number.NEGATIVE_INFINITY;
  let act: (times: number) => void = () => undefined;
  const onSignal = () => {
    const nowMs = performance.now();
    if (nowMs - lastMs < SAME_KEYPRESS_MS) return;
    lastMs = nowMs;
    times += 1;
    if (times === 1) stop.abort();
    else act(times);
  };
  for (const name of SIGNALS) process.on(name, onSignal);
  return {
    signal: stop.signal,
    asked: new Promise((resolve) => stop.signal.addEventListener('abort', () => resolve(), { once: true })),
    onImpatience: (next) => {
      act = next;
    },
    unwatch: () => {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}
