import {
  type DurableEvent,
  EVENT_KIND,
  EVENT_STATE,
  formatId,
  messageParts,
  type RunStatus,
  TURN_REASON,
  TURN_STATE,
} from '@turnkeeper/core';
import { nameOf } from '../read/state-names.ts';

/** Rows of one lane, as the functions of migration 0030 answer them. bigint comes as text. */
export interface HeadRow {
  readonly i: number;
  readonly key: string;
  readonly seq: string;
  readonly agent_id: string;
  readonly session_id: string | null;
  readonly turn_id: string | null;
  readonly turn_ords: readonly string[] | null;
  readonly turn_seq: string | null;
  readonly turn_started_at: Date | null;
  readonly turn_reason: number | null;
}

export interface TurnRow {
  readonly i: number;
  readonly id: string;
  readonly state: number;
  readonly reason: number;
  readonly agent_id: string;
  readonly agent_version: number | null;
  readonly session_id: string | null;
  readonly ords: readonly string[];
  readonly event_ids: readonly string[];
  readonly seq: string;
  readonly end_seq: string;
  readonly usage: Readonly<Record<string, number>> | null;
  readonly started_at: Date;
  readonly ended_at: Date;
}

export interface EventRow {
  readonly i: number;
  readonly id: string;
  readonly ord: string;
  readonly kind: number;
  readonly state: number;
  readonly turn_id: string | null;
  readonly session_id: string | null;
  readonly seq: string | null;
  readonly end_seq: string | null;
  readonly body: {
    readonly text?: string;
    readonly attachments?: readonly unknown[];
    readonly platformMessageId?: string;
    readonly source?: {
      readonly platform?: string;
      readonly userId?: string | null;
      readonly userName?: string | null;
    };
  };
  readonly error: { readonly code?: string } | null;
  readonly accepted_at: Date;
  readonly settled_at: Date | null;
}

export interface MessageRow {
  readonly i: number;
  readonly id: string;
  readonly seq: string;
  readonly n: number;
  readonly role: string;
  readonly session_id: string;
  readonly turn_id: string | null;
  readonly run_id: string | null;
  readonly body: {
    readonly text?: string;
    readonly code?: string;
    readonly author?: string;
    readonly attachments?: readonly unknown[];
    /** Words of a stopped turn, which is `turnId`. */
    readonly cut?: true;
    readonly turnId?: string;
    /** It answers this question. */
    readonly inputId?: string;
  };
  readonly at: Date;
}

export interface MarkRow {
  readonly i: number;
  readonly seq: string;
  readonly kind: string;
  readonly session_id: string | null;
  readonly body: Readonly<Record<string, unknown>>;
  readonly at: Date;
}

/** The events that one row tells of, whatever the cursor: the caller keeps those behind it. */
export function eventsOfTurn(row: TurnRow, head: HeadRow): DurableEvent[] {
  const runIds = row.event_ids.map((id) => formatId('run', id));
  const about = { ...envelope(head, row.session_id, row.id), runIds };
  const started: DurableEvent = {
    ...about,
    type: 'turn.started',
    at: row.started_at.toISOString(),
    seq: Number(row.seq),
    data: startData(row, runIds),
  };
  return [started, { ...about, ...endOf(row), at: row.ended_at.toISOString(), seq: Number(row.end_seq) }];
}

/** A turn that runs has no row of its own: it stands in its lane. */
export function eventsOfRunningTurn(head: HeadRow, events: readonly EventRow[]): DurableEvent[] {
  if (head.turn_id === null || head.turn_seq === null || head.turn_started_at === null) return [];
  const runIds = events.map(({ id }) => formatId('run', id));
  const started = { reason: head.turn_reason ?? 0, agent_id: head.agent_id, agent_version: null };
  return [
    {
      ...envelope(head, head.session_id, head.turn_id),
      runIds,
      type: 'turn.started',
      at: head.turn_started_at.toISOString(),
      seq: Number(head.turn_seq),
      data: startData(started, runIds),
    },
  ];
}

/** An inbound event: the person's message once a turn has taken it, the run's end once it has one. */
export function eventsOfInbound(row: EventRow, head: HeadRow): DurableEvent[] {
  const runs = head.turn_id !== null && row.state < 2 && (head.turn_ords ?? []).includes(row.ord);
  const seq = row.seq ?? (runs ? head.turn_seq : null);
  const sessionId = row.session_id ?? (runs ? head.session_id : null);
  const about = {
    ...envelope(head, sessionId, runs ? head.turn_id : row.turn_id),
    runIds: [formatId('run', row.id)],
  };
  const events: DurableEvent[] = [];
  if (seq !== null) {
    const data = messageData(row, { role: 'user', author: row.kind === EVENT_KIND.wake ? 'system' : 'human' });
    const clientId = row.body.platformMessageId;
    events.push({
      ...about,
      type: 'message.created',
      at: row.accepted_at.toISOString(),
      seq: Number(seq),
      data: { ...data, ...(clientId === undefined ? {} : { clientId }), ...visitorOf(row.body.source) },
    });
  }
  const status = nameOf(EVENT_STATE, row.state) as RunStatus | 'resuming' | null;
  if (row.end_seq !== null && row.settled_at !== null && status !== null) {
    const at = row.settled_at.toISOString();
    const code = row.error?.code;
    const error = code === undefined ? {} : { error: { code } };
    const data = { runId: formatId('run', row.id), eventId: formatId('evt', row.id), status, ...error };
    events.push({ ...about, type: 'run.settled', at, seq: Number(row.end_seq), data });
  }
  return events;
}

/** What the agent said, the gateway itself, or a person to a question. */
export function eventsOfMessage(row: MessageRow, head: HeadRow): DurableEvent[] {
  const about = {
    ...envelope(head, row.session_id, row.turn_id ?? row.body.turnId ?? null),
    ...(row.run_id === null ? {} : { runIds: [formatId('run', row.run_id)] }),
    at: row.at.toISOString(),
    seq: Number(row.seq),
  };
  if (row.role === 'notice') {
    const { code = 'notice', text = '' } = row.body;
    return [{ ...about, type: 'notice.created', data: { code, text } }];
  }
  const { author = 'agent', cut, inputId } = row.body;
  const by = row.role === 'user' ? { role: 'user', author: 'human' } : { role: 'assistant', author };
  const data = {
    ...messageData(row, by),
    ...(cut === undefined ? {} : { cut }),
    ...(inputId === undefined ? {} : { inputId: formatId('inp', inputId) }),
  };
  return [{ ...about, type: 'message.created', data }];
}

/**
 * What somebody did to the conversation: its kind is the event's type. A question that a turn asked is that turn's, and says
 * which runs wait now.
 */
export function eventsOfMark(
  row: MarkRow,
  { head, turns }: { readonly head: HeadRow; readonly turns: readonly TurnRow[] },
): DurableEvent[] {
  const about = { at: row.at.toISOString(), seq: Number(row.seq) };
  const data = markData(row.body);
  const asked = row.kind === 'input.required' ? turns.find(({ end_seq }) => end_seq === row.seq) : undefined;
  if (asked === undefined) return [{ ...envelope(head, row.session_id, null), ...about, type: row.kind, data }];
  const { inputId } = data;
  const of = { ...envelope(head, row.session_id, asked.id), ...about };
  const waiting = asked.event_ids.map((id) => {
    const [runId, eventId] = [formatId('run', id), formatId('evt', id)];
    return { ...of, type: 'run.waiting', runIds: [runId], data: { runId, eventId, inputId } };
  });
  return [...waiting, { ...of, type: row.kind, runIds: asked.event_ids.map((id) => formatId('run', id)), data }];
}

/** Ids as callers know them. */
function markData(body: MarkRow['body']): DurableEvent['data'] {
  const { inputId, previousSessionId } = body;
  return {
    ...body,
    ...(typeof inputId === 'string' ? { inputId: formatId('inp', inputId) } : {}),
    ...(typeof previousSessionId === 'string' ? { previousSessionId: formatId('ses', previousSessionId) } : {}),
  };
}

function envelope(head: HeadRow, sessionId: string | null, turnId: string | null) {
  return {
    sessionKey: head.key,
    ...(sessionId === null ? {} : { sessionId: formatId('ses', sessionId) }),
    ...(turnId === null ? {} : { turnId: formatId('trn', turnId) }),
  };
}

function startData(turn: Pick<TurnRow, 'reason' | 'agent_id' | 'agent_version'>, runIds: readonly string[]) {
  const reason = nameOf(TURN_REASON, turn.reason) ?? 'message';
  return { agentId: formatId('agt', turn.agent_id), agentVersion: turn.agent_version, runIds, reason };
}

const INTERRUPTED: Partial<Record<string, { readonly reason: string; readonly willResume: boolean }>> = {
  stopped: { reason: 'stop', willResume: false },
  cancelled: { reason: 'stop', willResume: false },
  handed_back: { reason: 'drain', willResume: true },
  interrupted: { reason: 'worker_lost', willResume: true },
};

function endOf({ state, usage }: TurnRow): Pick<DurableEvent, 'type' | 'data'> {
  const status = nameOf(TURN_STATE, state) ?? 'error';
  const interrupted = INTERRUPTED[status];
  if (interrupted !== undefined) return { type: 'turn.interrupted', data: { ...interrupted } };
  return { type: 'turn.finished', data: { status, ...(usage === null ? {} : { usage }) } };
}

/** Who of those in front of a page said it: several may share a room. */
function visitorOf({ platform, userId, userName }: NonNullable<EventRow['body']['source']> = {}) {
  if (platform !== 'webchat' || typeof userId !== 'string') return {};
  return { from: { sub: userId, ...(typeof userName === 'string' && { name: userName }) } };
}

function messageData(
  { id, body }: { readonly id: string; readonly body: EventRow['body'] | MessageRow['body'] },
  by: { readonly role: string; readonly author: string },
) {
  const text = body.text ?? '';
  return { messageId: formatId('msg', id), ...by, parts: messageParts(text, body.attachments), text };
}
