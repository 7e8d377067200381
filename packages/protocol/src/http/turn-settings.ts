/** How the turns and sessions of an agent go: parts of what people configure. */
import { z } from 'zod';
import { nameText } from './fields.ts';

/** When time ends a conversation: after a silence (`idle`), at an hour of the tenant's day (`daily`), at either, or never. */
export const ResetSchema = z.strictObject({
  mode: z.enum(['none', 'idle', 'daily', 'both']),
  dailyHour: z.int().min(0).max(23).optional(),
  idleMinutes: z.int().min(1).max(5_256_000).optional(),
});
/** Policies by chat type, or by platform. */
export const ResetsSchema = z
  .record(nameText(32), ResetSchema)
  .refine((policies) => Object.keys(policies).length <= 50, { error: 'at most 50 policies' });

/** How long a turn may take. */
export const TurnLimitsSchema = z.strictObject({
  turnMs: z.int().min(1_000).max(86_400_000).optional(),
  inactiveMs: z.int().min(1_000).max(86_400_000).optional(),
});
/** What becomes of turns that are interrupted. */
export const ResumeSchema = z.strictObject({
  freshnessMs: z.int().min(0).max(604_800_000).optional(),
  resumesMax: z.int().min(1).max(100).optional(),
  failuresMax: z.int().min(1).max(100).optional(),
});

/** Budgets of loops that no person takes part in. */
export const LoopsSchema = z.strictObject({
  botTurnsMax: z.int().min(1).max(100).optional(),
  botWindowMs: z.int().min(1_000).max(604_800_000).optional(),
  hopsMax: z.int().min(1).max(100).optional(),
});
