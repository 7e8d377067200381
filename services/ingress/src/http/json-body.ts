import { AppError, cleanJson, type TextRepairs } from '@turnkeeper/core';

/** Deeper bodies say nothing more, and recursion over them would end the stack. */
const DEPTH_MAX = 32;

/**
 * A reader of JSON bodies: parses, refuses what is nested too deep or holds numbers that no number is, and replaces NUL
 * and lone surrogates, which no store can keep. `count` is told how many of them there were.
 */
export function jsonReader(count: (repairs: TextRepairs) => void): (text: string) => unknown {
  return (text) => {
    const value = parse(text);
    if (isTooDeep(value)) throw refusal('a value is nested too deep or is no finite number');
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

/** Level by level, so that no depth of nesting can end the stack. */
function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) return true;
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item === 'number' && !Number.isFinite(item)) return true;
      if (typeof item !== 'object' || item === null) continue;
      for (const child of Object.values(item)) {
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
