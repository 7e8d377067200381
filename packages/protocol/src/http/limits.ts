/** What a tenant may have at once, and has. */
import { z } from 'zod';
import { TenantLimitsSchema } from './configuration.ts';

/** `GET /v1/limits`. Null: no limit. */
export const LimitsAnswerSchema = z.strictObject({
  limits: TenantLimitsSchema,
  use: z.strictObject({
    /** Accepted messages whose turn has not begun: measured every 2 s, and what this node accepted since. */
    queuedPerTenant: z.int(),
  }),
});
export type LimitsAnswer = z.infer<typeof LimitsAnswerSchema>;
