import {
  claimOwed,
  isLedgered,
  isLedgerOn,
  isSilent,
  obligationId,
  prunesDelivery,
  settleSend,
} from '@turnkeeper/core';
import type { Adapters } from './adapter.ts';

type Owed = Parameters<typeof claimOwed>[0];
type RowState = 'abandoned' | 'attempting' | 'delivered' | 'failed' | 'pending';

interface ClaimInput extends Pick<Owed, 'trigger' | 'owner' | 'ledgerEnabled'> {
  connected: string[];
  row: {
    state: RowState;
    platform: string;
    attempts: number;
    ageSeconds: number;
    lastError: string | null;
    sinceTrySeconds: number;
  };
}

const DEAD_CHAT = /^(blocked by the user|chat deleted|chat not found)$/;

/** What the product's channels say as a fact, the vectors write as a text. */
function failureOf(lastError: string | null): Owed['failure'] {
  if (lastError === null) return null;
  const [, seconds] = /^flood_control:([0-9]+)$/.exec(lastError) ?? [];
  if (seconds !== undefined) return { kind: 'flood', waitMs: Number(seconds) * 1000 };
  if (lastError === 'send_path_degraded') return { kind: 'degraded' };
  return DEAD_CHAT.test(lastError) ? { kind: 'dead_chat' } : { kind: 'other' };
}

const stateOf = (state: RowState) => (state === 'attempting' ? 'sending' : state);

function claim({ row, connected, ...who }: ClaimInput) {
  const { action, reason, notice, waitMs } = claimOwed({
    ...who,
    isConnected: connected.includes(row.platform),
    state: stateOf(row.state),
    attempts: row.attempts,
    ageMs: row.ageSeconds * 1000,
    sinceTryMs: row.sinceTrySeconds * 1000,
    failure: failureOf(row.lastError),
    onUnknown: 'resend',
  });
  const after = action === 'abandon' ? 'abandoned' : row.state;
  return {
    ...{ action, reason, notice },
    attemptsAfter: row.attempts + (action === 'send' ? 1 : 0),
    stateAfter: action === 'send' ? ('attempting' as const) : after,
    resumeFlagCleared: action === 'send' || action === 'adopt',
    waitSeconds: waitMs === null ? null : waitMs / 1000,
  };
}

export const deliveryAdapters: Adapters = {
  'ledger.claim': claim,
  'ledger.claimRace': ({ sweeps }: { sweeps: number }) => {
    const row = { platform: 'p', attempts: 0, ageSeconds: 60, lastError: null, sinceTrySeconds: 60 };
    let [state, owner, sends]: [RowState, Owed['owner'], number] = ['pending', 'expired', 0];
    for (let sweep = 0; sweep < sweeps; sweep++) {
      const asked = { trigger: 'sweep', owner, ledgerEnabled: true, connected: ['p'], row: { ...row, state } } as const;
      const { action, stateAfter } = claim({ ...asked, connected: [...asked.connected] });
      if (action !== 'send') continue;
      sends++;
      [state, owner] = [stateAfter, 'alive'];
    }
    return { claims: sends, sends };
  },
  'ledger.config': ({ value }: { value: string | boolean | null }) => ({ enabled: isLedgerOn(value) }),
  'ledger.id': ({ sessionKey, messageRef, content }: { sessionKey: string; messageRef: string; content: string }) => ({
    obligationId: obligationId(sessionKey, messageRef, content),
  }),
  'ledger.prune': ({ rows }: { rows: { id: string; state: RowState; ageDays: number }[] }) => ({
    pruned: rows.filter(({ state, ageDays }) => prunesDelivery(stateOf(state), ageDays)).map(({ id }) => id),
  }),
  'ledger.record': ({ replyKind, ...reply }: { replyKind: 'command'; text: string; ledgerEnabled: boolean }) => ({
    recorded: isLedgered({ ...reply, kind: replyKind }),
  }),
  'ledger.settle': ({ send, attempts }: { send: 'error' | 'ok'; attempts: number }) => {
    const delivery = { attempt: attempts, recovered: false, finishedAt: new Date(0) };
    const outcome =
      send === 'ok' ? ({ result: 'delivered', ref: null } as const) : ({ result: 'failed', code: 'refused' } as const);
    const { state } = settleSend({ delivery, outcome, ledgerEnabled: true, nowMs: 0, random: 0 });
    // a reply is owed by the very commit that clears the flag
    return { stateAfter: state, resumeFlagClearedBeforeSend: true };
  },
  'silence.match': ({ reply }: { reply: string }) => ({
    interactive: isSilent(reply, { autonomous: false }),
    autonomous: isSilent(reply, { autonomous: true }),
  }),
};
