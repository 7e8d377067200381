/** Errors on the wire: RFC 9457 with stable codes. */
import { z } from 'zod';

export const ProblemSchema = z.strictObject({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  code: z.string(),
  retryable: z.boolean(),
  retryAfterMs: z.int().optional(),
  requestId: z.string(),
  /** `detail`: what is wrong at that place, where the whole problem's `detail` speaks of several. */
  errors: z.array(z.strictObject({ pointer: z.string(), code: z.string(), detail: z.string().optional() })).optional(),
  /** `agent_mismatch`, `idempotency_mismatch` and `deadline_exceeded` name the run they are about. */
  runId: z.string().optional(),
});
export type Problem = z.infer<typeof ProblemSchema>;
