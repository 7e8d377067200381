import {
  canonicalWhatsapp,
  contextBelongs,
  contextKey,
  echoKey,
  echoTarget,
  isSharedLane,
  keyAlias,
  normalizeId,
  normalizeWhatsapp,
  openclawKey,
  parseKey,
  roomFromInbound,
  standardKey,
  storeKey,
  systemKey,
  threadKey,
  webChatKey,
  webChatPlatform,
  whatsappJid,
} from '@turnkeeper/core';
import { KeyPolicySchema } from '@turnkeeper/protocol';
import type { Adapters } from './adapter.ts';

type First<Function> = Function extends (first: infer Input, ...rest: never) => unknown ? Input : never;
type Of<Function> = Function extends (...parameters: infer Inputs) => unknown ? Inputs : never;
type Standard = Of<typeof standardKey>;
type Lids = Of<typeof canonicalWhatsapp>[1];

export const keyAdapters: Adapters = {
  'key.alias': (input: { key: string } & Of<typeof keyAlias>[1]) => keyAlias(input.key, input),
  'key.context': (input: { key: string; resetCount: string | number | null }) => ({
    contextKey: contextKey(input.key, input.resetCount),
  }),
  'key.contextBelongs': (input: { key: string; contextKey: string }) => ({
    belongs: contextBelongs(input.key, input.contextKey),
  }),
  'key.echo': (input: First<typeof echoKey>) => echoKey(input),
  'key.echoTarget': (input: { key: string }) => echoTarget(input.key),
  'key.groupFromInbound': (input: First<typeof roomFromInbound>) => ({ match: roomFromInbound(input) }),
  'key.normalizeId': (input: { kind: 'account' | 'agent'; value: string | null }) => ({
    id: normalizeId(input.kind, input.value),
  }),
  'key.openclaw': (input: First<typeof openclawKey>) => ({ key: openclawKey(input) }),
  'key.parse': (input: { key: string }) => parseKey(input.key),
  'key.scopeConfig': (input: { value: string }) => ({
    ok: KeyPolicySchema.safeParse({ name: 'echo', scope: input.value }).success,
  }),
  'key.standard': (input: { source: Standard[0]; config: Standard[1]; lidMap: Standard[2] }) => ({
    key: standardKey(input.source, input.config, input.lidMap),
  }),
  'key.store': (input: { key: string } & Of<typeof storeKey>[1]) => ({ storeKey: storeKey(input.key, input) }),
  'key.system': (input: First<typeof systemKey>) => ({ key: systemKey(input) }),
  'key.thread': (input: First<typeof threadKey>) => threadKey(input),
  'lane.shared': (input: { source: Standard[0]; config: Of<typeof isSharedLane>[1] }) => ({
    shared: isSharedLane(input.source, input.config),
  }),
  'webchat.platform': (input: { platform: string; known: string[] }) => ({
    platform: webChatPlatform(input.platform, input.known),
  }),
  'webchat.resolveKey': (input: First<typeof webChatKey>) => webChatKey(input),
  'whatsapp.canonical': (input: { value: string; lidMap: Lids }) => ({
    canonical: canonicalWhatsapp(input.value, input.lidMap),
  }),
  'whatsapp.normalize': (input: { value: string | null }) => ({ normalized: normalizeWhatsapp(input.value) }),
  'whatsapp.outboundJid': (input: { value: string }) => ({ jid: whatsappJid(input.value) }),
};
