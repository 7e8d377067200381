import {
  type AgentId,
  afterTrigger,
  chooseResetPolicy,
  decideReset,
  decideRoute,
  laneIdOf,
  mayArchive,
  nextStatus,
  overCap,
  prunesLane,
  resetSession,
  routeAgent,
  switchSession,
  type TenantId,
  touchSession,
} from '@turnkeeper/core';
import type { Adapters } from './adapter.ts';

type Of<Function> = Function extends (...parameters: infer Inputs) => unknown ? Inputs : never;
type RouteInput = Omit<Of<typeof decideRoute>[0], 'entry'> & {
  entry: { sessionId: string; suspended: boolean; resumePending: boolean; lastPromptTokens: number } | null;
};
type Status = Of<typeof touchSession>[0];
interface SweepInput {
  now: string;
  expiryHours: number;
  archiveHours: number;
  sweeps: number;
  sessions: { status: Status; lastActivityAt: string }[];
}
interface ResetInput {
  policy: Of<typeof decideReset>[0]['policy'];
  lastActivityAt: string;
  now: string;
  timeZone: string;
}

export const routingAdapters: Adapters = {
  'agent.route': (input: Of<typeof routeAgent>[0]) => routeAgent(input),
  'lane.prune': (input: Of<typeof prunesLane>[0]) => ({ removed: prunesLane(input), transcriptKept: true }),
  'lifecycle.archive': ({ status }: { status: Status | null }) => ({ archived: mayArchive(status) }),
  'lifecycle.sweep': ({ now, sweeps, sessions, ...limits }: SweepInput) => {
    const rows = sessions.map((session) => ({ ...session, lastActivityAt: new Date(session.lastActivityAt) }));
    const sweep = () => rows.filter((row) => moved(row, nextStatus(row, new Date(now), limits))).length;
    const transitionsPerSweep = Array.from({ length: sweeps }, sweep);
    return { statuses: rows.map(({ status }) => status), transitionsPerSweep, lastActivityMoved: false };
  },
  'lifecycle.touch': ({ status, ...touch }: { status: Status } & Of<typeof touchSession>[1]) => {
    const touched = touchSession(status, touch);
    const isNew = touched.session === 'new';
    return { ...touched, linkedToOld: isNew, oldStatus: isNew ? status : null };
  },
  'reset.decide': ({ policy, timeZone, ...times }: ResetInput) => {
    const [lastActivityAt, now] = [new Date(times.lastActivityAt), new Date(times.now)];
    const trigger = decideReset({ policy, lastActivityAt, now, timeZone });
    return { reset: trigger !== null, trigger };
  },
  'reset.policy': (input: Of<typeof chooseResetPolicy>[0]) => chooseResetPolicy(input),
  'reset.trigger': (input: { text: string; authorized: boolean; triggers: string[] }) => {
    const remainder = afterTrigger(input.text, input.authorized, input.triggers);
    return { reset: remainder !== null, remainder };
  },
  'retention.cap': (input: { maxEntries: number; sessions: Of<typeof overCap>[0] }) => ({
    removed: overCap(input.sessions, input.maxEntries),
  }),
  'route.decide': ({ entry, ...input }: RouteInput) =>
    decideRoute({ ...input, entry: entry && { ...entry, hadActivity: entry.lastPromptTokens > 0 } }),
  'route.singleFlight': ({ concurrentCallers }: { concurrentCallers: number; workers: number }) => {
    const lane = () => laneIdOf('tenant' as TenantId, 'agent' as AgentId, 'key');
    const rows = new Set(Array.from({ length: concurrentCallers }, lane)).size;
    return { distinctSessionIds: rows, rowsCreated: rows };
  },
  'session.reset': ({ sessionId }: { sessionId: string | null }) => {
    const none = { result: 'none', session: null, freshReset: false, autoReset: false, oldRowEndReason: null };
    if (sessionId === null) return { ...none, parentIsOld: false };
    const { endReason, previousId } = resetSession(sessionId, 'command');
    return {
      ...none,
      result: 'reset',
      session: 'new',
      freshReset: true,
      oldRowEndReason: endReason,
      parentIsOld: previousId === sessionId,
    };
  },
  'session.switch': ({ current, target }: { current: string; target: string }) => {
    const to = switchSession(current, target);
    const { sessionId = current, endReason = null, reopens = false } = to ?? {};
    return { changed: to !== null, sessionId, oldRowEndReason: endReason, targetReopened: reopens };
  },
};

function moved(row: { status: Status }, to: Status | null): boolean {
  if (to === null) return false;
  row.status = to;
  return true;
}
