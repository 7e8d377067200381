import {
  type BootId,
  clearsResume,
  EVENT_STATE,
  isLedgerOn,
  type LaneId,
  type LostTurn,
  RECOVERY_DEFAULTS,
  type RecoveryLimits,
  type TenantId,
  type TurnId,
  type TurnVerdict,
} from '@turnkeeper/core';
import { columns, json } from './columns.ts';

/** A row of `lost_turns`. */
export interface LostTurnRow {
  readonly slot: number;
  readonly tenant_id: TenantId;
  readonly lane_id: LaneId;
  readonly turn_id: TurnId;
  readonly crashed: boolean;
  readonly lost_ms: number;
  readonly age_ms: number;
  readonly suspended: boolean;
  readonly resume_pending: string | null;
  readonly resumes: number;
  readonly is_machine: boolean;
  readonly failures: number;
  readonly steps: number;
  readonly last_role: string | null;
  readonly last_text: string | null;
  readonly last_ms: number | null;
  readonly boot_id: BootId;
  /** Of the options of its account; null: not set. */
  readonly ledger: string | null;
  readonly takeovers_ms: readonly number[];
  /** Of the agent's configuration, which leaves out what is not set. */
  readonly limits: { readonly inactiveMs?: number } | null;
  readonly resume: Partial<Omit<RecoveryLimits, 'inactiveMsMax'>> | null;
}

export function lostTurnOf(row: LostTurnRow): LostTurn {
  return {
    lane: { slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id },
    turnId: row.turn_id,
    crashed: row.crashed,
    lostForMs: row.lost_ms,
    ageMs: row.age_ms,
    suspended: row.suspended,
    resumePending: row.resume_pending,
    resumes: row.resumes,
    isMachine: row.is_machine,
    failures: row.failures,
    steps: row.steps,
    lastStep:
      row.last_role === null ? null : { role: row.last_role, text: row.last_text ?? '', afterMs: row.last_ms ?? 0 },
    bootId: row.boot_id,
    ledgerEnabled: isLedgerOn(row.ledger),
    resumesLostAgoMs: row.takeovers_ms,
    limits: {
      ...RECOVERY_DEFAULTS,
      ...row.resume,
      inactiveMsMax: row.limits?.inactiveMs ?? RECOVERY_DEFAULTS.inactiveMsMax,
    },
  };
}

/** The arguments of `interrupt_turns`. */
export function verdictColumns(verdicts: readonly TurnVerdict[]): unknown[] {
  return columns<TurnVerdict>(
    verdicts,
    ({ lost }) => lost.lane.slot,
    ({ lost }) => lost.lane.tenantId,
    ({ lost }) => lost.lane.laneId,
    ({ lost }) => lost.turnId,
    ({ lost }) => lost.steps,
    ({ lost }) => lost.crashed,
    ({ events }) => EVENT_STATE[events],
    ({ error }) => (error === null ? null : json({ code: error })),
    ({ pending }) => pending,
    ({ resumes }) => resumes,
    ({ suspend }) => suspend,
    ({ owesReply }) => owesReply,
    ({ notice }) => (notice === null ? null : json({ code: notice.code, text: notice.text })),
    ({ outcome }) => AUDITED[outcome] ?? null,
    ({ notice }) => notice?.id ?? null,
    ({ lostAgain }) => lostAgain,
    (verdict) => takesMark(verdict),
  );
}

/** A turn that succeeded after all takes the mark of an interruption with it, as its commit would have. */
function takesMark({ events, error, outcome }: TurnVerdict): boolean {
  const isDone = events === 'ok' || events === 'no_reply';
  const failure = { failed: error !== null, partial: !isDone, error };
  return clearsResume({ completed: isDone, interrupted: outcome === 'resume', ...failure });
}

/** What a lane or an event did to itself is kept in the audit trail. */
const AUDITED: Partial<Record<TurnVerdict['outcome'], string>> = {
  suspended: 'lane.suspended',
  parked: 'event.parked',
};
