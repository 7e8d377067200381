import { AppError, type CrashPoints } from '@turnkeeper/core';

interface Armed {
  readonly act: () => void;
  /** Hits left until it acts; 0 = it has acted. */
  left: number;
}

/**
 * Arms places of the product where a test wants the process to end, stop or stall:
 * `name:kill|stop|delay=ms[:nth]`, several with commas. `kill` = SIGKILL, `stop` = SIGSTOP, `delay` blocks the whole
 * process (like a long pause of the machine); on the nth hit (default the first), once.
 * @throws AppError `config_invalid` when the text is not of this form
 */
export function createCrashPoints(text: string | undefined): CrashPoints {
  if (!text) return { hit: () => undefined };
  const armed = new Map(text.split(',').map((part) => readPoint(part.trim())));
  return {
    hit: (name) => {
      const point = armed.get(name);
      if (!point || point.left === 0) return;
      point.left -= 1;
      if (point.left === 0) point.act();
    },
  };
}

const FORM = /^(?<name>[a-z][a-z.-]*):(?:(?<signal>kill|stop)|delay=(?<ms>\d{1,7}))(?::(?<nth>[1-9]\d{0,8}))?$/;

function readPoint(part: string): [string, Armed] {
  const { name, signal, ms, nth } = FORM.exec(part)?.groups ?? {};
  if (name === undefined) {
    throw new AppError({
      code: 'config_invalid',
      message: `TURNKEEPER_CRASH_POINTS: "${part}" is not of the form name:kill|stop|delay=ms[:nth]`,
    });
  }
  const act =
    signal === undefined ? () => block(Number(ms)) : () => signalMyself(signal === 'kill' ? 'SIGKILL' : 'SIGSTOP');
  return [name, { act, left: Number(nth ?? 1) }];
}

function signalMyself(signal: 'SIGKILL' | 'SIGSTOP'): void {
  process.kill(process.pid, signal);
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
