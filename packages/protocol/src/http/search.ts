/** Search in transcripts. */
import { z } from 'zod';
import { CursorParam, InstantSchema, limitParam, listOf, ReferenceSchema, SessionKeySchema } from './fields.ts';

export const SearchHitSchema = z.strictObject({
  messageId: z.string(),
  sessionKey: z.string(),
  sessionId: z.string(),
  agentId: z.string(),
  role: z.enum(['user', 'assistant', 'notice']),
  seq: z.int(),
  /** What stands around the first place that was found. */
  snippet: z.string(),
  createdAt: InstantSchema,
});
export type SearchAnswer = z.infer<typeof SearchHitSchema>;

export const SearchListSchema = listOf(SearchHitSchema);

/** `q`: words, and phrases in double quotes. `session`: as in paths. A page may hold few finds, or none, and lead on. */
export const SearchQuerySchema = z.strictObject({
  q: z.string().min(1).max(256),
  limit: limitParam(),
  cursor: CursorParam,
  session: z.string().min(1).max(1024).optional(),
  sessionKey: SessionKeySchema.optional(),
  agentId: ReferenceSchema.optional(),
});
