/** What a tenant used. */
import { z } from 'zod';
import { CursorParam, limitParam, listOf, ReferenceSchema } from './fields.ts';

/** One agent on one day (UTC). */
export const UsageSchema = z.strictObject({
  day: z.iso.date(),
  agentId: z.string(),
  /** Absent: the agent was deleted. */
  agent: z.string().optional(),
  turns: z.int(),
  /** Accepted messages that ended, however they ended. */
  events: z.int(),
  /** Messages that were owed to an account, whatever became of them. */
  deliveries: z.int(),
  tokensIn: z.int(),
  tokensOut: z.int(),
});
export type Usage = z.infer<typeof UsageSchema>;

export const UsageListSchema = listOf(UsageSchema);

/** `from`, `to`: the first and the last day that counts. */
export const UsageQuerySchema = z.strictObject({
  limit: limitParam(),
  cursor: CursorParam,
  from: z.iso.date().optional(),
  to: z.iso.date().optional(),
  agentId: ReferenceSchema.optional(),
});
