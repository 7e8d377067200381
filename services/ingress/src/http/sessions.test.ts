import { type AgentId, formatId } from '@turnkeeper/core';
import { describe, expect, it } from 'vitest';
import { selectorOf } from './sessions.ts';

const agentId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000' as AgentId;
const encode = (key: string) => `~${Buffer.from(key).toString('base64url')}`;

describe('selectorOf', () => {
  it('takes an id for one generation', () => {
    expect(selectorOf(formatId('ses', agentId), undefined)).toEqual({ by: 'id', sessionId: agentId });
  });

  it.each(['agent:main:telegram:dm:5', 'ses_short', '~', 'a/b c', 'ключ'])(
    'takes %j for a key, plain or encoded',
    (key) => {
      const named = { by: 'key', sessionKey: key, agentId };
      if (!key.startsWith('~')) expect(selectorOf(key, agentId)).toEqual(named);
      expect(selectorOf(encode(key), agentId)).toEqual(named);
    },
  );

  it('can name a key that looks like an id', () => {
    const key = formatId('ses', agentId);
    expect(selectorOf(encode(key), undefined)).toMatchObject({ by: 'key', sessionKey: key });
  });

  it.each(['', '~', '~a', '~a=', '~YQ==', '~_w', `~${'A'.repeat(800)}`, 'x'.repeat(513), 'a\u0000b'])(
    'refuses %j',
    (text) => {
      expect(() => selectorOf(text, undefined)).toThrow(expect.objectContaining({ code: 'malformed_key' }));
    },
  );
});
