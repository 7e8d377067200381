import { sessionSelector } from '@turnkeeper/protocol';
import { InvalidArgumentError } from 'commander';

/** Reads a whole number within bounds, for `.option(flag, help, wholeNumber(1, 100))`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number, ${min}–${max}.`);
  };
}

/** Reads a number within bounds, for `.option(flag, help, number(0, 1))`. */
export function number(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a number, ${min}–${max}.`);
  };
}

/** How a conversation that is named by its key or `ses_…` stands in a path. */
export function sessionInPath(session: string): string {
  return /^ses_[0-9a-z]{26}$/.test(session) ? session : sessionSelector(session);
}
