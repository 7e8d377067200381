import type { HttpErrorCode, Scope } from '@turnkeeper/core';
import type { z } from 'zod';

/** What an answer carries. Null: no JSON body. */
export type Answer = z.ZodType | 'events' | 'text' | 'bytes' | null;

/** A route as the document tells it. */
export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** With `{parameters}`. */
  readonly path: string;
  readonly id: string;
  readonly summary: string;
  /** What opens it: a scope of a tenant's key, an operator's key, nothing, or a signature that the account's channel checks. */
  readonly door: Scope | 'operator' | 'open' | 'signature';
  /** A visitor's client token opens it, too, for its own rooms. */
  readonly visitors?: true;
  readonly query?: z.ZodObject;
  /** `bytes`: anything, as it is. */
  readonly body?: z.ZodType | 'bytes';
  /** Statuses of success; of several answers the request says which. */
  readonly answers: Readonly<Record<number, Answer | readonly Answer[]>>;
  /** Beyond those that every route of its kind may answer. */
  readonly errors?: readonly HttpErrorCode[];
  /** Answers carry an `ETag`; with `If-Match` late changes are refused. */
  readonly versioned?: true;
  /** Headers of its own. */
  readonly headers?: readonly string[];
  /** Refuses in the form of another API instead of with problems. */
  readonly refusals?: 'openai';
  /** Takes an `Idempotency-Key`. */
  readonly idempotent?: true;
}
