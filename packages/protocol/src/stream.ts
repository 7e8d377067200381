/** Stream events: the envelope of SSE answers (surface §4). */
import { z } from 'zod';
import { InstantSchema } from './http/fields.ts';

/** Types that a stream may carry today. Durable ones have a lane seq, which becomes the SSE id. */
export const STREAM_EVENT_TYPES = [
  'stream.open',
  'stream.closing',
  'event.accepted',
  'run.settled',
  'turn.started',
  'turn.interrupted',
  'message.delta',
  'message.created',
  'turn.finished',
] as const;
export type StreamEventType = (typeof STREAM_EVENT_TYPES)[number];

export const StreamEventSchema = z.strictObject({
  v: z.literal(1),
  type: z.enum(STREAM_EVENT_TYPES),
  at: InstantSchema,
  seq: z.int().optional(),
  tenantId: z.string(),
  sessionKey: z.string(),
  sessionId: z.string().nullable(),
  turnId: z.string().optional(),
  attempt: z.int().optional(),
  runIds: z.array(z.string()).optional(),
  data: z.record(z.string(), z.unknown()),
});
export type StreamEvent = z.infer<typeof StreamEventSchema>;

/** `data` of each type. Deltas: `offset` counts UTF-16 units from the start of the part. */
export interface StreamEventData {
  readonly 'stream.open': { readonly headSeq: number | null };
  readonly 'stream.closing': {
    readonly reason: 'drain' | 'slow_consumer' | 'revoked' | 'lifetime';
    readonly reconnectAfterMs: number;
  };
  readonly 'event.accepted': {
    readonly eventId: string;
    readonly runId: string;
    readonly kind: string;
    readonly position: number;
  };
  readonly 'run.settled': {
    readonly runId: string;
    readonly eventId: string;
    readonly status: string;
    readonly reason?: string;
    readonly error?: { readonly code: string };
  };
  readonly 'turn.started': {
    readonly agentId: string;
    readonly agentVersion: number | null;
    readonly runIds: readonly string[];
    readonly reason: string;
  };
  readonly 'turn.interrupted': { readonly reason: string; readonly willResume: boolean };
  readonly 'message.delta': {
    readonly messageId: string;
    readonly part: number;
    readonly offset: number;
    readonly text: string;
  };
  readonly 'message.created': {
    readonly messageId: string;
    readonly role: string;
    readonly author: string;
    readonly parts: readonly unknown[];
    readonly text: string;
  };
  readonly 'turn.finished': { readonly status: string; readonly usage?: Readonly<Record<string, number>> };
}
