import { AppError } from '@turnkeeper/core';

/** Exit codes are contract. */
export const EXIT = { ok: 0, failed: 1, usage: 2, verdict: 3, unreachable: 4, denied: 5 } as const;

/** An expected end of a command: the message is shown as it is. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(exit: Exclude<keyof typeof EXIT, 'ok'>, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = EXIT[exit];
  }
}

const DENIED: ReadonlySet<string> = new Set([
  ...['unauthenticated', 'key_expired', 'key_revoked', 'token_expired', 'scope_missing', 'tenant_suspended'],
]);
const UNREACHABLE: ReadonlySet<string> = new Set(['store_unavailable', 'overloaded', 'draining']);

/** The exit code for anything thrown out of a command. */
export function exitCodeOf(err: unknown): number {
  if (err instanceof CliError) return err.exitCode;
  if (!(err instanceof AppError)) return EXIT.failed;
  if (DENIED.has(err.code)) return EXIT.denied;
  return UNREACHABLE.has(err.code) ? EXIT.unreachable : EXIT.failed;
}

/** One line for people; the stack of something unforeseen, too. */
export function sentenceOf(err: unknown): string {
  if (err instanceof CliError) return err.message;
  if (err instanceof AppError) return `${err.message} (${err.code})`;
  return err instanceof Error ? (err.stack ?? err.message) : String(err);
}
