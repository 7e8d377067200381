import {
  type AgentConfig,
  type AgentId,
  type AgentRuntimeConfig,
  type ClaimedTurn,
  type EventId,
  type LaneId,
  LOOP_DEFAULTS,
  type SessionId,
  type TenantId,
  type TurnId,
} from '@turnkeeper/core';

/** A claimed turn with one event per text; what a test does not name is always the same. */
export function turnOf(
  texts: readonly string[],
  at: { readonly seq?: string; readonly lane?: string; readonly session?: string } = {},
): ClaimedTurn {
  const source = { platform: 'api', chatType: 'dm' };
  const seq = at.seq ?? '1';
  return {
    result: 'claimed',
    lane: { slot: 1, tenantId: 'tenant' as TenantId, laneId: (at.lane ?? 'lane') as LaneId },
    fence: { fence: seq, turnId: `turn of ${seq}` as TurnId },
    agentId: 'agent' as AgentId,
    sessionKey: 'key',
    source,
    sessionId: (at.session ?? 'session') as SessionId,
    seq,
    reason: 'message',
    resumeOf: null,
    interrupted: null,
    startedAt: new Date(0),
    events: texts.map((text, i) => ({
      eventId: `event ${i}` as EventId,
      ord: String(i),
      kind: 'message',
      accountId: null,
      body: { text, source },
      attempts: 0,
      acceptedAt: new Date(0),
      traceparent: null,
    })),
  };
}

export function agentOf(runtime: AgentRuntimeConfig): AgentConfig {
  return {
    tenantId: 'tenant' as TenantId,
    tenantName: 'acme',
    agentId: 'agent' as AgentId,
    name: 'main',
    version: 1,
    keyPolicy: {
      name: 'standard',
      groupSessionsPerUser: true,
      threadSessionsPerUser: false,
      dmScope: 'main',
      mainKey: 'main',
      identityLinks: {},
      scope: 'per_user',
    },
    busyMode: 'queue',
    turnMsMax: null,
    inactiveMsMax: null,
    freshnessMs: 3_600_000,
    loops: LOOP_DEFAULTS,
    reset: null,
    resetByType: {},
    resetByChannel: {},
    system: null,
    runtime,
    secret: () => Promise.resolve(null),
  };
}
