/** What operators look back at: turns that have ended, and who decided what. */
import { TURN_STATE, type TurnStatus } from '@turnkeeper/core';
import { z } from 'zod';
import { CursorParam, InstantSchema, limitParam, listOf, ReferenceSchema } from './fields.ts';

const TURN_STATUSES = Object.keys(TURN_STATE) as [TurnStatus, ...TurnStatus[]];

export const EndedTurnSchema = z.strictObject({
  turnId: z.string(),
  tenantId: z.string(),
  tenant: z.string(),
  sessionKey: z.string(),
  sessionId: z.string().optional(),
  agentId: z.string(),
  agentVersion: z.int().optional(),
  status: z.enum(TURN_STATUSES),
  reason: z.enum(['message', 'resume', 'wake', 'spawn', 'input']),
  resumeOf: z.string().optional(),
  node: z.string(),
  runIds: z.array(z.string()),
  error: z.strictObject({ code: z.string() }).optional(),
  usage: z.record(z.string(), z.number()).optional(),
  startedAt: InstantSchema,
  endedAt: InstantSchema,
});
export type EndedTurn = z.infer<typeof EndedTurnSchema>;

export const AuditEntrySchema = z.strictObject({
  id: z.string(),
  tenantId: z.string(),
  tenant: z.string(),
  at: InstantSchema,
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()),
});
export type AuditEntry = z.infer<typeof AuditEntrySchema>;

export const JournalQuerySchema = z.strictObject({
  limit: limitParam(),
  cursor: CursorParam,
  tenant: ReferenceSchema.optional(),
});
export const EndedTurnListSchema = listOf(EndedTurnSchema);
export const AuditListSchema = listOf(AuditEntrySchema);
