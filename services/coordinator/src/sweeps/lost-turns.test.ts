import type { BootId, LaneRef, LostTurn, TurnId } from '@turnkeeper/core';
import { RECOVERY_DEFAULTS, RESUME_BREAKER } from '@turnkeeper/core';
import { VirtualClock } from '@turnkeeper/core/testing';
import { createMetrics } from '@turnkeeper/platform/telemetry';
import { expect, test } from 'vitest';
import { lostTurns } from './lost-turns.ts';

const LOST: LostTurn = {
  ...{ lane: { slot: 0, tenantId: 't', laneId: 'l' } as LaneRef, turnId: 'a' as TurnId, crashed: true },
  ...{ lostForMs: 3000, ageMs: 5000, suspended: false, resumePending: null, resumes: 0, isMachine: false },
  ...{ failures: 0, steps: 1, limits: RECOVERY_DEFAULTS },
  ...{ bootId: 'b' as BootId, ledgerEnabled: true, resumesLostAgoMs: [] },
  lastStep: { role: 'tool_call', text: '', afterMs: 100 },
};

test('counts what was parked, and nothing that goes on or was parked by another', async () => {
  const metrics = createMetrics({ service: 'coordinator', version: '0' });
  const failures = RECOVERY_DEFAULTS.failuresMax - 1;
  const lost = [LOST, { ...LOST, turnId: 'b' as TurnId, failures }, { ...LOST, turnId: 'c' as TurnId, failures }];
  const sweep = lostTurns({
    repair: { lostTurns: async () => lost, interrupt: async () => [true, true, false] },
    ownership: { slotMap: async () => new Int16Array(1) },
    wakeUps: { wake: () => undefined },
    live: { publish: () => undefined },
    clock: new VirtualClock(),
    breaker: RESUME_BREAKER,
    resumes: metrics.counter('resumes_total'),
    parked: metrics.counter('events_parked'),
    delay: metrics.histogram('takeover_delay_seconds'),
    logger: { warn: () => undefined } as never,
  });
  expect(await sweep.run(new AbortController().signal)).toEqual({ resume: 1, parked: 1 });
  expect(await metrics.text()).toContain('turnkeeper_events_parked 1');
});
