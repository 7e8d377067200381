import { describe, expect, it } from 'vitest';
import type { KeyPolicyConfig } from '../ports/configs.ts';
import { webChatSource } from './web-chat-source.ts';

const policy: KeyPolicyConfig = {
  name: 'standard',
  groupSessionsPerUser: true,
  threadSessionsPerUser: false,
  dmScope: 'main',
  mainKey: 'main',
  identityLinks: {},
  scope: 'per_user',
};

function keyOf(changes: Partial<KeyPolicyConfig>, { room = 'u_ann', sub = 'ann' } = {}): string {
  const agent = { name: 'main', keyPolicy: { ...policy, ...changes } };
  return webChatSource({ room, sub, name: null, agent, accountName: 'site' }).sessionKey;
}

describe('a room of the web chat', () => {
  it('is a dm with the agent, named by the visitor’s token', () => {
    const agent = { name: 'main', keyPolicy: policy };
    const { source } = webChatSource({
      room: 'room-5',
      sub: 'visitor-77',
      name: 'Visitor 77',
      agent,
      accountName: null,
    });
    const expected = { platform: 'webchat', chatType: 'dm', chatId: 'room-5' };
    expect(source).toEqual({ ...expected, userId: 'visitor-77', userName: 'Visitor 77' });
  });

  it('has the key that its policy gives a dm', () => {
    expect(keyOf({})).toBe('agent:main:webchat:dm:u_ann');
  });

  it('is named as a web client under the echo policy', () => {
    expect(keyOf({ name: 'echo' })).toBe('gateway:webchat:u_ann');
  });

  it.each(['standard', 'openclaw', 'echo'] as const)('is never another visitor’s (%s)', (name) => {
    expect(keyOf({ name })).not.toBe(keyOf({ name }, { room: 'u_bob', sub: 'bob' }));
  });

  it('keeps the key of a visitor whose name the policy does not change (openclaw)', () => {
    expect(keyOf({ name: 'openclaw' })).toBe('agent:main:webchat:direct:ann');
  });

  it('is not another visitor’s whose name differs in case, blanks or look alone', () => {
    const subs = [
      'bob',
      'Bob',
      '^bob',
      '~42~ob',
      ' bob',
      'bob ',
      '~20~bob',
      'k',
      'K',
      '\u212a',
      'σ',
      'ς',
      'Σ',
      '~room~bob',
    ];
    for (const name of ['standard', 'openclaw', 'echo'] as const) {
      const keys = [...subs.map((sub) => `u_${sub}`), 'bob', 'Bob', 'u_'].map((room) => keyOf({ name }, { room }));
      expect(new Set(keys).size, name).toBe(keys.length);
    }
  });

  it.each(['standard', 'openclaw', 'echo'] as const)('is one conversation for all who name it (%s)', (name) => {
    expect(keyOf({ name }, { room: 'lobby', sub: 'ann' })).toBe(keyOf({ name }, { room: 'lobby', sub: 'bob' }));
    expect(keyOf({ name }, { room: 'lobby' })).not.toBe(keyOf({ name }, { room: 'garden' }));
  });
});
