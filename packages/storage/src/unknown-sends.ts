import { isLedgerOn, type LaneId, type TenantId, type UnknownSend, type UnknownVerdict } from '@turnkeeper/core';
import { columns, json } from './columns.ts';

/** A row of `owed_sends`. */
export interface UnknownRow {
  readonly slot: number;
  readonly tenant_id: TenantId;
  readonly lane_id: LaneId;
  readonly seq: string;
  readonly n: number;
  readonly attempt: number;
  readonly age_ms: number;
  readonly since_ms: number;
  readonly held: boolean;
  /** Of the account's options; null: what the channel does by itself. */
  readonly policy: string | null;
  /** The same; null: not set. */
  readonly ledger: string | null;
}

/** The numbers that `decide_unknown` takes. */
const VERDICTS: Readonly<Record<UnknownVerdict['verdict'], number>> = { resend: 0, hold: 1, abandon: 2 };

export function unknownOf(row: UnknownRow): UnknownSend {
  return {
    lane: { slot: row.slot, tenantId: row.tenant_id, laneId: row.lane_id },
    seq: row.seq,
    n: row.n,
    attempt: row.attempt,
    ageMs: row.age_ms,
    sinceMs: row.since_ms,
    held: row.held,
    onUnknown: row.policy === 'hold' ? 'hold' : 'resend',
    ledgerEnabled: isLedgerOn(row.ledger),
  };
}

/** The arguments of `decide_unknown`. */
export function unknownColumns(verdicts: readonly UnknownVerdict[]): unknown[] {
  return columns<UnknownVerdict>(
    verdicts,
    ({ send }) => send.lane.slot,
    ({ send }) => send.lane.tenantId,
    ({ send }) => send.lane.laneId,
    ({ send }) => send.seq,
    ({ send }) => send.n,
    ({ send }) => send.attempt,
    ({ verdict }) => VERDICTS[verdict],
    ({ holdMs }) => holdMs,
    ({ error }) => (error === null ? null : json({ code: error })),
  );
}
