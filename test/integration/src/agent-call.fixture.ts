import {
  type AgentConfig,
  type AgentId,
  type ClaimedTurn,
  type EventId,
  type LaneId,
  LOOP_DEFAULTS,
  type SessionId,
  type TenantId,
  type TurnId,
} from '@turnkeeper/core';
import { systemIds } from '@turnkeeper/platform/process';

export const API_KEY = 'sk-canary-key';

/** A claimed turn of one message. */
export function turnOf(text: string): ClaimedTurn {
  const source = { platform: 'api', chatType: 'dm' };
  const event = {
    ...{
      eventId: systemIds.next() as EventId,
      ord: '1',
      kind: 'message' as const,
      accountId: null,
      body: { text, source },
    },
    ...{ attempts: 0, acceptedAt: new Date(), traceparent: null },
  };
  return {
    result: 'claimed',
    lane: { slot: 1, tenantId: systemIds.next() as TenantId, laneId: systemIds.next() as LaneId },
    fence: { fence: '1', turnId: systemIds.next() as TurnId },
    agentId: systemIds.next() as AgentId,
    ...{
      sessionKey: 'k',
      source,
      sessionId: systemIds.next() as SessionId,
      seq: '1',
      reason: 'message',
      resumeOf: null,
      interrupted: null,
    },
    startedAt: new Date(),
    events: [event],
  };
}

/** An agent whose model is at `url`. */
export function configOf(url: string, over: Partial<AgentConfig> = {}): AgentConfig {
  return {
    ...{
      tenantId: systemIds.next() as TenantId,
      tenantName: 'acme',
      agentId: systemIds.next() as AgentId,
      name: 'gpt',
    },
    version: 1,
    keyPolicy: {
      ...{ name: 'standard', groupSessionsPerUser: true, threadSessionsPerUser: false, dmScope: 'main' },
      ...{ mainKey: 'main', identityLinks: {}, scope: 'per_user' },
    },
    busyMode: 'queue',
    reset: null,
    resetByType: {},
    resetByChannel: {},
    system: null,
    turnMsMax: null,
    inactiveMsMax: null,
    freshnessMs: 3_600_000,
    loops: LOOP_DEFAULTS,
    runtime: { kind: 'openai', baseUrl: `${url}/v1`, model: 'm', tools: [], images: false },
    secret: (name) => Promise.resolve(name === 'apiKey' ? API_KEY : null),
    ...over,
  };
}
