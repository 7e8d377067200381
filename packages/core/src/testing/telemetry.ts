import type { Counter, LogFields, Logger } from '../ports/runtime.ts';

/** Says nothing. */
export const silentLogger: Logger = recordingLogger(() => undefined);

/** Hands over the message of every line above debug. */
export function recordingLogger(note: (msg: string) => void): Logger {
  const line = (_fields: LogFields, msg: string) => note(msg);
  const logger: Logger = {
    ...{ debug: () => undefined, info: line, warn: line, error: line },
    failed: (_error, _fields, msg) => note(msg),
    child: () => logger,
  };
  return logger;
}

/** Counts by the value of one label; `all` where it has none. */
export function recordingCounter(label: string): Counter & { readonly seen: Readonly<Record<string, number>> } {
  const seen: Record<string, number> = {};
  return {
    seen,
    inc: (labels, by = 1) => {
      const value = labels?.[label] ?? 'all';
      seen[value] = (seen[value] ?? 0) + by;
    },
  };
}
