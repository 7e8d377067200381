/** Frames of `GET /v1/ws` (surface §4): one JSON text each. What the server streams has the envelope of `stream.ts`. */
import { z } from 'zod';
import { RoomSchema } from './http/client-tokens.ts';
import { idText, nameText, ReferenceSchema, SessionKeySchema } from './http/fields.ts';
import { AnswerTextSchema } from './http/inputs.ts';
import { MessageTextSchema } from './http/messages.ts';
import { EventIdSchema, STREAM_FILTERS } from './stream.ts';

export const SOCKET_PROTOCOL = 'turnkeeper.v1';
/** Of one frame; a longer one closes the socket with 1009. */
export const FRAME_BYTES_MAX = 64 * 1024;
const UPLOADS_MAX = 20;

/** Why a socket was closed. 1000, 1001 and 1009 are WebSocket's own. */
export const CLOSE_CODES = {
  /** The longest life of a socket is over: come back. */
  lifetime: 1001,
  /** This node drains: come back elsewhere. */
  drain: 1012,
  /** Too slow a reader, or too many sockets: come back later. */
  overload: 1013,
  malformed: 4400,
  unauthenticated: 4401,
  forbidden: 4403,
  room: 4404,
  authDeadline: 4408,
  subscriptions: 4413,
  rate: 4429,
  storeDown: 4503,
} as const;
export type CloseCode = (typeof CLOSE_CODES)[keyof typeof CLOSE_CODES];

/** A seq; or the `id` of the last event, which also tells apart those that share a seq. */
const CursorSchema = z.union([
  z
    .int()
    .nonnegative()
    .transform((seq) => ({ seq, told: 0 })),
  EventIdSchema,
]);

const UploadSchema = z.strictObject({
  id: z.string().min(1).max(64),
  name: nameText(255).optional(),
  mime: nameText(127).optional(),
  size: z.int().nonnegative().optional(),
});

/** What a client may send. `resend` says that a message may have come before; nothing depends on it. */
export const ClientFrameSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auth'), token: z.string().min(1).max(8192) }),
  z.strictObject({ type: z.literal('resume'), room: RoomSchema, lastSeq: CursorSchema.nullish() }),
  z.strictObject({
    type: z.literal('subscribe'),
    sessionKey: SessionKeySchema,
    agentId: ReferenceSchema.optional(),
    after: CursorSchema.nullish(),
  }),
  z.strictObject({
    type: z.literal('unsubscribe'),
    sessionKey: SessionKeySchema,
    agentId: ReferenceSchema.optional(),
  }),
  z.strictObject({
    type: z.literal('message'),
    room: RoomSchema,
    clientId: idText(128).min(1),
    text: MessageTextSchema,
    uploads: z.array(UploadSchema).max(UPLOADS_MAX).optional(),
    resend: z.boolean().optional(),
  }),
  z.strictObject({ type: z.literal('stop'), room: RoomSchema }),
  z.strictObject({ type: z.literal('input.answer'), inputId: z.string().max(64), text: AnswerTextSchema }),
  z.strictObject({ type: z.literal('seen'), room: RoomSchema, seq: z.int().nonnegative() }),
  z.strictObject({ type: z.literal('typing'), room: RoomSchema, active: z.boolean().optional() }),
  z.strictObject({ type: z.literal('ping'), t: z.number().optional() }),
]);
export type ClientFrame = z.infer<typeof ClientFrameSchema>;

/** What a server answers frames with. Everything else that it sends is a stream event. */
export type ServerFrame =
  | {
      readonly type: 'auth.ok';
      /** Of a visitor: its rooms, and what each is called in `/v1/sessions/{session}`. */
      readonly sub?: string;
      readonly rooms?: readonly string[];
      readonly sessionKeys?: Readonly<Record<string, string>>;
      readonly expiresAt?: string;
    }
  | {
      readonly type: 'ack';
      readonly clientId: string;
      readonly eventId: string;
      readonly runId: string;
      readonly duplicate: boolean;
    }
  | {
      readonly type: 'nack';
      readonly clientId: string;
      readonly code: string;
      /** True: the same frame may be accepted later. */
      readonly retryable: boolean;
      readonly retryAfterMs?: number;
    }
  | { readonly type: 'pong'; readonly t?: number };

export const SocketQuerySchema = z.strictObject({ ticket: z.string().max(4096).optional(), ...STREAM_FILTERS });
