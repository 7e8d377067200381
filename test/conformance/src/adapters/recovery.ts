import {
  breakResumeLoop,
  clearResume,
  clearsResume,
  decideInterrupted,
  drainStep,
  handOverReason,
  markResume,
  mayClearAgain,
  ownsMark,
  resumeBlocker,
  resumeNote,
  strike,
  type TurnOutcome,
} from '@turnkeeper/core';
import type { Adapters } from './adapter.ts';

type Marked = Parameters<typeof decideInterrupted>[0];

interface DecideInput extends Pick<Marked, 'owner' | 'suspended' | 'turnKind' | 'diagnosticsMuted' | 'ledgerEnabled'> {
  now: string;
  mark: { startedAt: string } | null;
  resumePending: { reason: NonNullable<Marked['resumePending']> } | null;
  lastRow: (Omit<NonNullable<Marked['lastRow']>, 'atMs'> & { at: string }) | null;
  ledgeredText: string | null;
  agentTimeoutSeconds: number;
  hasOrigin: boolean;
}

type ResumeInput = Omit<Parameters<typeof resumeBlocker>[0], 'markedAgeMs' | 'freshnessMs'> & {
  markedAgeSeconds: number;
  freshnessSeconds: number;
};

interface NoteInput {
  resumePending: boolean;
  reason: string | null;
  markedAgeSeconds: number;
  transcriptAgeSeconds: number | null;
  windowSeconds: number;
  lastRowRole: 'assistant' | 'tool' | 'user';
  text: string;
}

interface StuckInput {
  threshold: number;
  events: { type: 'interrupt' | 'recover' | 'success'; cause: 'crash' | 'rollout' | null; lanes: string[] }[];
}

interface DrainInput {
  kind: 'restart' | 'shutdown';
  budgetSeconds: number;
  killedAfterSeconds: number | null;
  agentTimeoutSeconds: number;
  running: { lane: string; finishesAfterSeconds: number | null; idleSeconds: number }[];
}

interface BreakerInput {
  candidates: number;
  interruptedBootsAgoSeconds: number[];
  maxRestarts: number;
  windowSeconds: number;
  maxGapSeconds: number;
}

interface MarkInput {
  exists: boolean;
  suspended: boolean;
  resumePending: boolean;
  reason: 'restart_interrupted' | 'restart_timeout' | 'shutdown_timeout';
}

interface StepsInput {
  steps: { do: 'clear' | 'mark'; token: string; persist: 'ok' | 'fail' }[];
}

const MS = 1000;
const OWED = { state: 'attempting', notice: 'recovered' } as const;

export const recoveryAdapters: Adapters = {
  'drain.decide': ({ kind, budgetSeconds, killedAfterSeconds, agentTimeoutSeconds, running }: DrainInput) => {
    const limit = Math.min(budgetSeconds, killedAfterSeconds ?? Number.POSITIVE_INFINITY);
    const inactiveMsMax = agentTimeoutSeconds * MS;
    let left = running.map((turn) => ({ ...turn, idleMs: turn.idleSeconds * MS, inactiveMsMax }));
    const handedOver = new Set<string>();
    let waitedSeconds = 0;
    for (let atWork = left; atWork.length > 0; atWork = left) {
      const { waitFor, handOver } = drainStep(atWork, waitedSeconds >= limit);
      for (const { lane } of handOver) handedOver.add(lane);
      const ends = waitFor.map(({ finishesAfterSeconds }) => finishesAfterSeconds ?? Number.POSITIVE_INFINITY);
      if (ends.length > 0) waitedSeconds = Math.min(limit, ...ends);
      left = waitFor.filter(({ finishesAfterSeconds }) => (finishesAfterSeconds ?? limit + 1) > waitedSeconds);
    }
    const lanes = running.map(({ lane }) => {
      const resumePending = handedOver.has(lane);
      const outcome = resumePending ? 'handed_over' : 'finished';
      const resumeReason = resumePending ? handOverReason(kind) : null;
      return { lane, markedBeforeWait: true, outcome, resumePending, resumeReason };
    });
    const timedOut = lanes.some(({ resumePending }) => resumePending);
    return {
      timedOut,
      waitedSeconds,
      cleanExit: !timedOut && killedAfterSeconds === null,
      countsTowardStuck: false,
      lanes,
    };
  },
  'resume.breaker': ({
    candidates,
    interruptedBootsAgoSeconds,
    maxRestarts,
    windowSeconds,
    maxGapSeconds,
  }: BreakerInput) => {
    const interruptedAgoMs = interruptedBootsAgoSeconds.map((seconds) => seconds * MS);
    const limits = { restartsMax: maxRestarts, windowMs: windowSeconds * MS, gapMsMax: maxGapSeconds * MS };
    const broken = breakResumeLoop({ candidates, interruptedAgoMs, ...limits });
    return { consulted: broken.chain > 0, ...broken, bootRecorded: broken.chain > 0 };
  },
  'resume.clear': ({ resumeReason }: { resumeReason: string | null }) => {
    const { cleared, pending } = clearResume(resumeReason);
    return { cleared, resumePending: pending !== null, resumeReason: pending, lastResumeMarkedAt: pending };
  },
  'resume.mark': ({ resumePending, reason, ...lane }: MarkInput) => {
    const marked = markResume(lane, reason);
    return { marked: marked !== null, resumePending: resumePending || marked !== null, reason: marked };
  },
  'turn.clearRetry': ({ failingAttempts }: { failingAttempts: number }) => {
    let attempts = 1;
    while (attempts <= failingAttempts && mayClearAgain(attempts)) attempts++;
    return { attempts, cleared: attempts > failingAttempts, turnOutcomeChanged: false };
  },
  'turn.mark': ({ steps }: StepsInput) => {
    let mark: string | null = null;
    const results = steps.map(({ do: verb, token, persist }) => {
      if (verb === 'clear' && !ownsMark(mark, token)) return 'refused';
      if (persist === 'fail') return 'error';
      mark = verb === 'mark' ? token : null;
      return 'ok';
    });
    return { results, token: mark };
  },
  'recovery.decide': ({ now, mark, resumePending, lastRow, agentTimeoutSeconds, ...rest }: DecideInput) => {
    const { tooOld, obligation, ...decided } = decideInterrupted({
      ...rest,
      nowMs: Date.parse(now),
      markedAtMs: mark && Date.parse(mark.startedAt),
      resumePending: resumePending?.reason ?? null,
      lastRow: lastRow && { ...lastRow, atMs: Date.parse(lastRow.at) },
      agentTimeoutMs: agentTimeoutSeconds * 1000,
    });
    return { ...decided, obligation: obligation && { ...obligation, ...OWED } };
  },
  'resume.decide': ({ markedAgeSeconds, freshnessSeconds, ...lane }: ResumeInput) => {
    const ages = { markedAgeMs: markedAgeSeconds * 1000, freshnessMs: freshnessSeconds * 1000 };
    const blockedBy = resumeBlocker({ ...lane, ...ages });
    const schedule = blockedBy === null;
    const retryWhenAdapterReady = blockedBy === 'adapter_offline';
    const event = schedule ? 'internal_empty' : null;
    const flagKept = lane.resumePending;
    return { schedule, blockedBy, flagKept, retryWhenAdapterReady, event, laneClaimedBeforeDispatch: schedule };
  },
  'resume.afterTurn': (outcome: TurnOutcome) => ({ clear: clearsResume(outcome) }),
  'resume.note': ({
    resumePending,
    reason,
    markedAgeSeconds,
    transcriptAgeSeconds,
    windowSeconds,
    ...turn
  }: NoteInput) => {
    const note = resumeNote({
      ...turn,
      pending: resumePending ? { reason: reason ?? '', ageMs: markedAgeSeconds * 1000 } : null,
      transcriptAgeMs: transcriptAgeSeconds === null ? null : transcriptAgeSeconds * 1000,
      windowMs: windowSeconds * 1000,
    });
    const text = turn.text.trim() === '' ? 'none' : 'text';
    const withNote = text === 'none' ? 'note' : 'note_and_text';
    return { note, notes: note === null ? 0 : 1, modelInput: note === null ? text : withNote };
  },
  'stuck.run': ({ threshold, events }: StuckInput) => {
    const counts = new Map<string, number>();
    const [pending, suspended, resumed] = [new Map<string, boolean>(), new Set<string>(), [] as string[]];
    for (const { type, cause, lanes } of events) {
      for (const lane of lanes) type === 'success' ? counts.delete(lane) : pending.set(lane, cause === 'crash');
      if (type !== 'recover') continue;
      for (const [lane, isCrash] of pending) {
        const struck = strike({ resumes: counts.get(lane) ?? 0, isCrash, resumesMax: threshold });
        counts.set(lane, struck.resumes);
        if (struck.suspend) suspended.add(lane);
        else if (!suspended.has(lane)) resumed.push(lane);
      }
      pending.clear();
    }
    return { counts: Object.fromEntries([...counts].filter(([, n]) => n > 0)), suspended: [...suspended], resumed };
  },
};
