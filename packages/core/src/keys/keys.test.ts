import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeKeyPolicy } from '../configs/settings.ts';
import type { Source } from '../ports/intake.ts';
import { computeKey } from './compute.ts';
import { escapeComponent, unescapeComponent } from './escape.ts';
import { parseKey } from './parse.ts';
import { isSharedLane, standardKey } from './standard.ts';
import { canonicalWhatsapp, normalizeWhatsapp } from './whatsapp.ts';

const NO_LIDS = { forward: {}, reverse: {} };
/** Ids made of what keys are made of, so that a missing escape would show. */
const id = fc
  .array(fc.constantFrom('a', 'B', ':', '%', '3', 'A', '%3A', '%25', ' '), { minLength: 1, maxLength: 6 })
  .map((parts) => parts.join(''));
const maybeId = fc.option(id, { nil: null });
const chatType = fc.constantFrom('dm', 'group', 'channel', 'forum', 'thread');
const source: fc.Arbitrary<Source> = fc.record({
  platform: fc.constantFrom('telegram', 'slack', 'matrix', 'whatsapp'),
  chatType,
  chatId: maybeId,
  threadId: maybeId,
  userId: maybeId,
  userIdAlt: maybeId,
  prospectiveThreadId: maybeId,
  scopeId: maybeId,
});
const policy = fc.record({ groupSessionsPerUser: fc.boolean(), threadSessionsPerUser: fc.boolean() });
const telegram: Source = { platform: 'telegram', chatType: 'group', chatId: '-100', userId: 'U7', threadId: '5' };

describe('components', () => {
  it('are read back as they were written', () => {
    fc.assert(fc.property(fc.string(), (text) => unescapeComponent(escapeComponent(text)) === text));
  });

  it('never hold a separator once written', () => {
    fc.assert(fc.property(id, (text) => !escapeComponent(text).includes(':')));
  });
});

describe('standard keys', () => {
  it('give back what they are made of, so that no two sources share one', () => {
    fc.assert(
      fc.property(id, id, id, (chatId, threadId, userId) => {
        const key = standardKey(
          { platform: 'matrix', chatType: 'group', chatId, threadId, userId },
          { groupSessionsPerUser: true, threadSessionsPerUser: true, profile: null },
          NO_LIDS,
        );
        const parts = ['agent', 'main', 'matrix', 'group', chatId, threadId, userId];
        expect(key.split(':').map(unescapeComponent)).toEqual(parts);
      }),
    );
  });

  it('never depend on the sender where the lane is shared, and never share a DM', () => {
    fc.assert(
      fc.property(source, policy, id, (from, config, other) => {
        const keyOf = (sender: Source) => standardKey(sender, { ...config, profile: null }, NO_LIDS);
        const shared = isSharedLane(from, config);
        if (from.chatType === 'dm') expect(shared).toBe(false);
        else if (shared && (from.userId ?? from.userIdAlt) != null) {
          expect(keyOf({ ...from, userId: other, userIdAlt: null })).toBe(keyOf(from));
        }
      }),
    );
  });

  it('keep an agent named main~ or main apart from the first agent', () => {
    const keyOf = (profile: string | null) =>
      standardKey(telegram, { groupSessionsPerUser: true, threadSessionsPerUser: false, profile }, NO_LIDS);
    expect(new Set([keyOf(null), keyOf('main'), keyOf('coder')]).size).toBe(3);
    expect(keyOf('default')).toBe(keyOf(null));
  });
});

describe('computeKey', () => {
  const keyOf = (from: Source, settings: Parameters<typeof completeKeyPolicy>[0], agentName = 'main') =>
    computeKey({ source: from, policy: completeKeyPolicy(settings), agentName });

  it('names agent main as the first agent and others by their name', () => {
    expect(keyOf(telegram, 'standard').key).toBe('agent:main:telegram:group:-100:5');
    expect(keyOf(telegram, 'standard', 'desk').key).toBe('agent:desk:telegram:group:-100:5');
  });

  it('refuses an agent named default', () => {
    expect(() => keyOf(telegram, 'standard', 'default')).toThrow(expect.objectContaining({ code: 'invalid_field' }));
  });

  it('gives openclaw a forum’s thread as topic, any other as thread', () => {
    expect(keyOf({ ...telegram, chatType: 'forum' }, 'openclaw').key).toBe('agent:main:telegram:group:-100:topic:5');
    expect(keyOf(telegram, 'openclaw').key).toBe('agent:main:telegram:group:-100:thread:5');
    expect(keyOf({ ...telegram, chatType: 'channel' }, 'openclaw').key).toBe(
      'agent:main:telegram:channel:-100:thread:5',
    );
  });

  it('gives openclaw the sender of a DM as peer: the second id, else the first, else the chat', () => {
    const dm: Source = { platform: 'signal', chatType: 'dm', chatId: 'C', userId: 'U', userIdAlt: 'A' };
    const scope = { name: 'openclaw', dmScope: 'per-channel-peer' } as const;
    expect(keyOf(dm, scope).key).toBe('agent:main:signal:direct:a');
    expect(keyOf({ ...dm, userIdAlt: null }, scope).key).toBe('agent:main:signal:direct:u');
    expect(keyOf({ ...dm, userIdAlt: null, userId: '' }, scope).key).toBe('agent:main:signal:direct:c');
    expect(keyOf(dm, 'openclaw').key).toBe('agent:main:main');
  });

  it('names the account where the scope of direct messages asks for it', () => {
    const policy = completeKeyPolicy({ name: 'openclaw', dmScope: 'per-account-channel-peer' });
    const dm: Source = { platform: 'slack', chatType: 'dm', userId: 'U7' };
    expect(computeKey({ source: dm, policy, agentName: 'main', accountName: 'team-two' }).key).toBe(
      'agent:main:slack:team-two:direct:u7',
    );
  });

  it('adds the sender to echo keys of rooms only', () => {
    expect(keyOf(telegram, 'echo')).toEqual({ key: 'telegram:-100:U7', shared: false });
    expect(keyOf(telegram, { name: 'echo', scope: 'shared' })).toEqual({ key: 'telegram:-100', shared: true });
    expect(keyOf({ ...telegram, chatType: 'dm' }, 'echo')).toEqual({ key: 'telegram:-100', shared: false });
  });

  it('refuses a key above 512 bytes and takes one of exactly 512', () => {
    const dm = (chatId: string): Source => ({ platform: 'x', chatType: 'dm', chatId });
    const prefix = 'agent:main:x:dm:'.length;
    expect(keyOf(dm('a'.repeat(512 - prefix)), 'standard').key).toHaveLength(512);
    expect(() => keyOf(dm('a'.repeat(513 - prefix)), 'standard')).toThrow(
      expect.objectContaining({ code: 'malformed_key' }),
    );
    expect(() => keyOf(dm('ü'.repeat(256)), 'standard')).toThrow(expect.objectContaining({ code: 'malformed_key' }));
    expect(() => keyOf(dm('a\u0000'), 'standard')).toThrow(expect.objectContaining({ code: 'malformed_key' }));
    expect(() => keyOf(dm('a\ud800'), 'standard')).toThrow(expect.objectContaining({ code: 'malformed_key' }));
  });

  it('is the same for the same source under every policy', () => {
    fc.assert(
      fc.property(source, fc.constantFrom('standard', 'openclaw', 'echo'), (from, name) => {
        expect(keyOf({ ...from, userName: 'x', chatName: 'y' }, name)).toEqual(keyOf(from, name));
      }),
    );
  });

  it('makes openclaw keys that are read as agent keys of their agent', () => {
    fc.assert(
      fc.property(source, (from) => {
        const { key } = keyOf(from, 'openclaw', 'desk');
        expect(parseKey(key)).toMatchObject({ shape: 'agent', agentId: 'desk' });
        expect(key).toBe(key.toLowerCase().replaceAll('%3a', '%3A'));
      }),
    );
  });
});

describe('whatsapp identity', () => {
  const digits = fc
    .array(fc.constantFrom('1', '2', '3'), { minLength: 1, maxLength: 4 })
    .map((parts) => parts.join(''));
  const links = fc.array(fc.tuple(digits, digits), { maxLength: 8 });

  it('is one for all aliases of a person, however they were learned', () => {
    fc.assert(
      fc.property(links, digits, (pairs, start) => {
        const forward = Object.fromEntries(pairs.map(([lid, phone]) => [lid, `${phone}@s.whatsapp.net`]));
        const canonical = canonicalWhatsapp(start, { forward, reverse: {} });
        expect(canonicalWhatsapp(`+${start}@lid`, { forward, reverse: {} })).toBe(canonical);
        expect(canonical.length).toBeLessThanOrEqual(start.length);
        const both = { forward: { [start]: '12345@s.whatsapp.net' }, reverse: { '12345': `${start}:3@lid` } };
        expect(canonicalWhatsapp('12345', both)).toBe(canonicalWhatsapp(start, both));
      }),
    );
  });

  it('does not follow names of Object’s own', () => {
    expect(canonicalWhatsapp('constructor', NO_LIDS)).toBe('constructor');
  });

  it('is normal after being normalised', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const normal = normalizeWhatsapp(text);
        expect(normal).not.toMatch(/[:@]/);
      }),
    );
  });
});
