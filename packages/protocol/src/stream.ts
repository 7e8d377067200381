/** Stream events: the envelope of SSE answers (surface §4). */
import { STREAM_EVENTS, type StreamEventType } from '@turnkeeper/core';
import { z } from 'zod';
import { InstantSchema } from './http/fields.ts';

/** In the order of the surface's table. */
const STREAM_EVENT_TYPES = Object.keys(STREAM_EVENTS) as [StreamEventType, ...StreamEventType[]];

export const StreamEventSchema = z.strictObject({
  v: z.literal(1),
  type: z.enum(STREAM_EVENT_TYPES),
  at: InstantSchema,
  seq: z.int().optional(),
  /** On sockets, of durable events: what to resume from. */
  id: z.string().optional(),
  /** On sockets: the room of a visitor. */
  room: z.string().optional(),
  tenantId: z.string(),
  /** Null: about the connection, not about one conversation. */
  sessionKey: z.string().nullable(),
  sessionId: z.string().nullable(),
  turnId: z.string().optional(),
  attempt: z.int().optional(),
  runIds: z.array(z.string()).optional(),
  data: z.record(z.string(), z.unknown()),
});
export type StreamEvent = z.infer<typeof StreamEventSchema>;

/** `data` of each type. Deltas: `offset` counts UTF-16 units from the start of the part. */
export interface StreamEventData {
  /**
   * `replayFrom`: what comes is what changed after this seq. Both null for the stream of a tenant. `cursor`: where a reader goes
   * on that is cut off before a durable event has come.
   */
  readonly 'stream.open': {
    readonly replayFrom: number | null;
    readonly headSeq: number | null;
    readonly cursor?: string;
  };
  readonly 'stream.replayed': {
    /** Null for the stream of a tenant. */
    readonly replayedTo: number | null;
    readonly cursor?: string;
    readonly pending: readonly {
      readonly eventId: string;
      readonly runId: string;
      readonly clientId?: string;
      readonly position: number;
    }[];
  };
  readonly 'stream.reset': { readonly reason: 'cursor_unknown' | 'cursor_too_old'; readonly headSeq: number | null };
  readonly 'stream.closing': {
    readonly reason: 'drain' | 'slow_consumer' | 'revoked' | 'lifetime';
    readonly reconnectAfterMs: number;
  };
  readonly 'event.accepted': {
    readonly eventId: string;
    readonly runId: string;
    readonly kind: string;
    /** The id that its sender gave it. */
    readonly clientId?: string;
    readonly position: number;
  };
  readonly 'run.waiting': { readonly runId: string; readonly eventId: string; readonly inputId: string };
  /** `typing`: somebody in front of a web chat does, or has stopped; `from` names its socket, and is of no turn. */
  readonly 'turn.activity':
    | { readonly activity: 'thinking' | 'waiting' }
    | { readonly activity: 'typing'; readonly by: 'human'; readonly from: string; readonly active: boolean };
  readonly 'delivery.updated': {
    readonly deliveryId: string;
    readonly state: string;
    readonly attempt: number;
    readonly platformMessageIds: readonly string[];
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
  readonly 'turn.snapshot': { readonly messageId: string; readonly parts: readonly unknown[] };
  readonly 'turn.interrupted': { readonly reason: string; readonly willResume: boolean };
  readonly 'message.delta': {
    readonly messageId: string;
    readonly part: number;
    readonly offset: number;
    readonly text: string;
  };
  /** What the model thinks: live only, no row keeps it. */
  readonly 'reasoning.delta': { readonly part: number; readonly offset: number; readonly text: string };
  readonly 'message.created': {
    readonly messageId: string;
    readonly role: string;
    readonly author: string;
    readonly parts: readonly unknown[];
    readonly text: string;
    /** Of a visitor's message: its own name for it. */
    readonly clientId?: string;
    /** Of a visitor's message: who said it, as its token names the visitor. */
    readonly from?: { readonly sub: string; readonly name?: string };
    /** What a turn had said when somebody stopped it: no reply, and not the whole. */
    readonly cut?: boolean;
    /** A person's answer to this question. */
    readonly inputId?: string;
  };
  readonly 'notice.created': { readonly code: string; readonly text: string };
  readonly error: { readonly code: string; readonly detail: string };
  readonly 'turn.finished': { readonly status: string; readonly usage?: Readonly<Record<string, number>> };
}

/** The id of a durable event in the stream of a lane: its seq, or `seq.n` behind the n-th of those that share one. */
export const EventIdSchema = z
  .string()
  .regex(/^[0-9]{1,15}(\.[0-9]{1,4})?$/)
  .transform((id) => {
    const [seq, told = 0] = id.split('.').map(Number);
    return { seq: seq ?? 0, told };
  });

/** What of a stream a reader wants. */
export const STREAM_FILTERS = {
  /** Types with commas: only these, and those that begin with `stream.`. */
  types: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(STREAM_EVENT_TYPES)))
    .optional(),
  deltas: z.enum(['true', 'false']).optional(),
  /** `none`; `names` (the default): which tools run; `full`: also what they say, and what a model thinks. */
  tools: z.enum(['none', 'names', 'full']).optional(),
};

/** Which events a reader wants. */
export const StreamFilterSchema = z.strictObject(STREAM_FILTERS);
export type StreamFilterQuery = z.infer<typeof StreamFilterSchema>;

const CURSOR = { after: EventIdSchema.optional(), seq: EventIdSchema.optional(), lastSeq: EventIdSchema.optional() };

/** Where a reader goes on: three names of one thing. `Last-Event-ID` goes before all. */
export type StreamCursorQuery = z.infer<z.ZodObject<typeof CURSOR>>;

/** What a reader may ask of the stream of a conversation. */
export const StreamQuerySchema = z.strictObject({
  ...CURSOR,
  ...STREAM_FILTERS,
  agentId: z.string().min(1).max(64).optional(),
  /** Instead of an `Authorization` header, which `EventSource` cannot send. */
  ticket: z.string().max(4096).optional(),
});

/** The id of an event in the stream of a tenant; opaque. It holds the microseconds since 1970 up to which all was told. */
export const TenantEventIdSchema = z
  .string()
  .regex(/^t[0-9a-z]{1,11}$/)
  .transform((id) => Number.parseInt(id.slice(1), 36));

export function writeTenantEventId(toldTo: number): string {
  return `t${toldTo.toString(36)}`;
}

/** What a reader may ask of the stream of a tenant. */
export const TenantStreamQuerySchema = z.strictObject({ after: TenantEventIdSchema.optional(), ...STREAM_FILTERS });

/** What a reader may ask of the stream of a run. */
export const RunStreamQuerySchema = z.strictObject({ ...CURSOR, ...STREAM_FILTERS });
