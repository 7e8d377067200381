/** What a process needs besides its stores. */

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** One JSON line each. Never text of conversations, names, tokens. `err` may be any thrown value. */
export interface Logger {
  debug(fields: LogFields, msg: string): void;
  info(fields: LogFields, msg: string): void;
  warn(fields: LogFields & { readonly err?: never }, msg: string): void;
  error(fields: LogFields, msg: string): void;
  /** For thrown values: logs name, code and stack, never the message of a foreign error's payload. */
  failed(err: unknown, fields: LogFields, msg: string): void;
  child(fields: LogFields): Logger;
}

export interface Counter {
  inc(labels?: Readonly<Record<string, string>>, by?: number): void;
}
export interface Gauge {
  set(value: number, labels?: Readonly<Record<string, string>>): void;
}
export interface Histogram {
  observe(value: number, labels?: Readonly<Record<string, string>>): void;
}

/** A named place in the product where a test may end, stop or delay the process; costs one property read when off. */
export interface CrashPoints {
  hit(name: string): void;
}
