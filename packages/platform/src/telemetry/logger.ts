import { AppError, type LogFields, type Logger } from '@turnkeeper/core';
import { type DestinationStream, type Logger as Pino, pino } from 'pino';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Stand in every line: service, version, bootId. */
  readonly fields: LogFields;
  /** Where lines go; standard output when absent. Writing is synchronous, so that the last line before a crash is kept. */
  readonly destination?: DestinationStream;
}

/**
 * JSON lines with the field names of the surface: `time level msg service version bootId requestId traceId tenantId
 * laneId sessionId turnId attempt eventId deliveryId code`. Values are cut at 300 characters: a line holds ids and
 * counts, never what somebody wrote.
 */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    level: options.level,
    base: options.fields,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return wrap(options.destination ? pino(settings, options.destination) : pino(settings));
}

const VALUE_CHARACTERS_MAX = 300;
const CAUSES_MAX = 4;
const FRAMES_MAX = 12;

function wrap(target: Pino): Logger {
  return {
    debug: (fields, msg) => target.debug(cut(fields), msg),
    info: (fields, msg) => target.info(cut(fields), msg),
    warn: (fields, msg) => target.warn(cut(fields), msg),
    error: (fields, msg) => target.error(cut(fields), msg),
    failed: (err, fields, msg) => target.error({ ...cut(fields), ...describeError(err) }, msg),
    child: (fields) => wrap(target.child(cut(fields))),
  };
}

function cut(fields: LogFields): LogFields {
  for (const value of Object.values(fields)) {
    if (typeof value === 'string' && value.length > VALUE_CHARACTERS_MAX) return cutAll(fields);
  }
  return fields;
}

function cutAll(fields: LogFields): LogFields {
  const short = (value: LogFields[string]) =>
    typeof value === 'string' && value.length > VALUE_CHARACTERS_MAX
      ? `${value.slice(0, VALUE_CHARACTERS_MAX)}…`
      : value;
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, short(value)]));
}

/**
 * What may be told of a thrown value: its code, its name and where it was thrown, and the same of its causes. The
 * message only of our own errors; a driver's or parser's message may quote what a person wrote.
 */
function describeError(err: unknown): Record<string, unknown> {
  const links: unknown[] = [];
  for (let at = err; at !== undefined && at !== null && links.length < CAUSES_MAX; at = causeOf(at))
    links.push(link(at));
  const code = codeOf(err);
  return code === undefined ? { error: links } : { code, error: links };
}

function link(err: unknown): Record<string, unknown> {
  if (!(err instanceof Error)) return { name: typeof err };
  const frames = (err.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return {
    name: err.name,
    code: codeOf(err),
    message: err instanceof AppError ? err.message : undefined,
    at: frames.slice(0, FRAMES_MAX).map((line) => line.trim().slice(3)),
  };
}

function causeOf(err: unknown): unknown {
  return err instanceof Error ? err.cause : undefined;
}

function codeOf(err: unknown): string | undefined {
  return err instanceof Error && 'code' in err && typeof err.code === 'string' ? err.code : undefined;
}
