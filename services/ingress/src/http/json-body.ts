import { AppError, cleanJson, type TextRepairs } from '@turnkeeper/core';

/** Deeper bodies say nothing more, and recursion over them would end the stack. */
const DEPTH_MAX = 32;
/** More values cost the store far more than their bytes: a megabyte of `{}` takes seconds. */
const VALUES_MAX = 10_000;

/**
 * A reader of JSON bodies: parses, refuses what is nested too deep or holds numbers that no number is, and replaces NUL
 * and lone surrogates, which no store can keep. `count` is told how many of them there were.
 */
export function jsonReader(count: (repairs: TextRepairs) => void): (text: string) => unknown {
  return (text) => {
    const value = parse(text);
    if (isTooMuch(value))
      throw refusal(`the body has over ${VALUES_MAX} values, is nested too deep, or holds what is no finite number`);
    if (!MAY_NEED_REPAIR.test(text)) return value;
    const repairs: TextRepairs = { nul: 0, loneSurrogate: 0 };
    const cleaned = cleanJson(value, repairs);
    if (repairs.nul + repairs.loneSurrogate > 0) count(repairs);
    return cleaned;
  };
}

/** The text is UTF-8 that was decoded, so both can stand in it only as escapes. */
const MAY_NEED_REPAIR = /\\u(?:0000|[dD][89a-fA-F])/;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw refusal('the body is not JSON', cause);
  }
}

/** Too deep, too many, or not finite. Level by level, so that no depth of nesting can end the stack. */
function isTooMuch(value: unknown): boolean {
  let level: unknown[] = [value];
  let values = 0;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) return true;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item === 'number' && !Number.isFinite(item)) return true;
      if (typeof item !== 'object' || item === null) continue;
      const children = Object.values(item);
      values += children.length;
      if (values > VALUES_MAX) return true;
      for (const child of children) {
        if (typeof child === 'object' || typeof child === 'number') next.push(child);
      }
    }
    level = next;
  }
  return false;
}

function refusal(message: string, cause?: unknown): AppError {
  return new AppError({ code: 'invalid_json', message, cause });
}
