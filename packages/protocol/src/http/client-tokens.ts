/** `POST /v1/client-tokens`, `POST /v1/stream-tickets`, and the claims of tokens that owners sign themselves. */
import { z } from 'zod';
import { InstantSchema, idText, nameText, ReferenceSchema } from './fields.ts';

/** Longest life of a client token, seconds. */
export const CLIENT_TOKEN_SECONDS_MAX = 3600;
const ROOMS_MAX = 50;

/** Whoever the page says that it is. */
const SubSchema = idText(128).min(1);
export const RoomSchema = idText(200).min(1);
const VisitorNameSchema = nameText(128).min(1);
/** `self`: the one room `u_<sub>`, which nobody else has. */
const RoomsSchema = z.union([z.literal('self'), z.array(RoomSchema).min(1).max(ROOMS_MAX)]);

export const ClientTokenRequestSchema = z.strictObject({
  sub: SubSchema,
  name: VisitorNameSchema.optional(),
  agentId: ReferenceSchema.optional(),
  accountId: ReferenceSchema.optional(),
  rooms: RoomsSchema.optional(),
  ttlSeconds: z.int().min(1).max(CLIENT_TOKEN_SECONDS_MAX).optional(),
});

/** `sessionKeys`: what each room is called in `/v1/sessions/{session}`. */
export const ClientTokenSchema = z.strictObject({
  token: z.string(),
  expiresAt: InstantSchema,
  sub: z.string(),
  agentId: z.string(),
  accountId: z.string().optional(),
  rooms: z.array(z.string()),
  sessionKeys: z.record(z.string(), z.string()),
});
export type ClientToken = z.infer<typeof ClientTokenSchema>;

/** What a client token must say. Other claims are the signer's own business. */
export const ClientClaimsSchema = z.object({
  sub: SubSchema,
  name: VisitorNameSchema.optional(),
  rooms: RoomsSchema.optional(),
  exp: z.number().int().positive(),
});

/** `POST /v1/stream-tickets`: goes into `?ticket=` of a stream, once. */
export const StreamTicketSchema = z.strictObject({ ticket: z.string(), expiresAt: InstantSchema });
export type StreamTicket = z.infer<typeof StreamTicketSchema>;
