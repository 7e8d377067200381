import { AppError } from '@turnkeeper/core';

/**
 * How an outgoing request failed, which decides whether it may be repeated:
 *
 * | kind | did anything leave? |
 * |---|---|
 * | `blocked` address not allowed · `connect` name, connection or TLS failed · `busy` no connection was free in time · `withheld` the caller might not send any more | nothing was sent |
 * | `timeout` no answer, or not all of it, in time · `reset` the connection ended first · `aborted` the caller gave up · `too_large` | the other side may have acted |
 */
export type EgressFailure = 'blocked' | 'connect' | 'busy' | 'withheld' | 'timeout' | 'reset' | 'aborted' | 'too_large';

const NOTHING_SENT: ReadonlySet<EgressFailure> = new Set(['blocked', 'connect', 'busy', 'withheld']);
const MESSAGES: Readonly<Record<EgressFailure, string>> = {
  blocked:
    'The address is not one that outgoing requests may go to; an operator can allow it (TURNKEEPER_EGRESS_ALLOW), but no port of the cluster itself.',
  connect: 'No connection could be made.',
  busy: "All of the tenant's connections were in use.",
  withheld: 'The sender might no longer send when the connection stood.',
  timeout: 'The answer did not come in time.',
  reset: 'The connection ended before the answer was whole.',
  aborted: 'The request was given up.',
  too_large: 'The answer was larger than allowed.',
};

/** A request that got no answer, or not all of it. An answer with any status is not an error. */
export class EgressError extends AppError {
  override readonly name = 'EgressError';
  readonly kind: EgressFailure;
  /** False: the request certainly did not reach the other side. */
  readonly mayHaveArrived: boolean;

  constructor(kind: EgressFailure, cause?: unknown) {
    super({
      code: kind === 'blocked' ? 'egress_blocked' : kind === 'too_large' ? 'agent_bad_response' : 'agent_unreachable',
      retryable: kind !== 'blocked' && kind !== 'too_large',
      message: MESSAGES[kind],
      cause,
    });
    this.kind = kind;
    this.mayHaveArrived = !NOTHING_SENT.has(kind);
  }
}
