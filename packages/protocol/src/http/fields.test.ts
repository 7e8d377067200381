import { describe, expect, it } from 'vitest';
import { ClientFrameSchema } from '../frames.ts';
import { ClientTokenRequestSchema } from './client-tokens.ts';
import { IdempotencyKeySchema, SourceSchema } from './messages.ts';
import { SessionPatchSchema } from './sessions.ts';

/** What the reader of bodies makes of an id with NUL or a lone surrogate in it. */
const ALTERED = 'b\ufffdb';

describe('text by which something is known again', () => {
  const source = { platform: 'telegram', chatType: 'dm', chatId: '7', userId: '8' };
  const message = { type: 'message', room: 'lobby', clientId: 'c1', text: 'hello' };

  it.each([
    { of: 'sub', schema: ClientTokenRequestSchema, good: { sub: 'ann' }, altered: { sub: ALTERED } },
    { of: 'room of a token', schema: ClientTokenRequestSchema, good: { sub: 'ann' }, altered: { rooms: [ALTERED] } },
    ...['platform', 'chatId', 'threadId', 'userId', 'userIdAlt', 'prospectiveThreadId', 'scopeId'].map((of) => {
      return { of, schema: SourceSchema, good: source, altered: { [of]: ALTERED } };
    }),
    { of: 'clientId', schema: ClientFrameSchema, good: message, altered: { clientId: ALTERED } },
    { of: 'room of a frame', schema: ClientFrameSchema, good: message, altered: { room: ALTERED } },
    { of: 'label', schema: SessionPatchSchema, good: { label: 'a' }, altered: { label: ALTERED } },
  ])('is refused when it was altered on the way: two ids would become one ($of)', ({ schema, good, altered }) => {
    expect(schema.safeParse(good).success).toBe(true);
    expect(schema.safeParse({ ...good, ...altered }).success).toBe(false);
  });

  it('is refused as an idempotency key, too', () => {
    expect(IdempotencyKeySchema.safeParse(ALTERED).success).toBe(false);
  });

  it('is not what names a person to people', () => {
    expect(SourceSchema.safeParse({ ...source, userName: ALTERED }).success).toBe(true);
  });
});
