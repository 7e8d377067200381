import {
  AppError,
  type ControlSignals,
  type ControlStore,
  type EventId,
  formatId,
  type LaneRef,
  parseId,
  type RunQuestion,
  type RunReads,
  type RunRecord,
  type TimelineEntry,
  type TimelineReads,
} from '@turnkeeper/core';
import {
  LIST_LIMIT_DEFAULT,
  type Run,
  type RunList,
  RunListQuerySchema,
  RunQuerySchema,
  RunStreamQuerySchema,
  type ShownAttachment,
  ShownAttachmentSchema,
  type Timeline,
} from '@turnkeeper/protocol';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Targets } from '../intake/targets.ts';
import type { RunStreams } from '../runs/run-streams.ts';
import type { RunWaiters } from '../runs/run-waiters.ts';
import { cursorOf } from '../streams/stream-filter.ts';
import type { Access } from './access.ts';
import { parseBody, parseQuery } from './requests.ts';

export interface RunParts {
  readonly access: Access;
  readonly targets: Pick<Targets, 'agent'>;
  readonly runs: RunReads;
  readonly timelines: TimelineReads;
  readonly control: Pick<ControlStore, 'cancelRun'>;
  readonly signals: Pick<ControlSignals, 'stopTurn'>;
  readonly waiters: RunWaiters;
  readonly streams: RunStreams;
  /** Tells a lane's owner, and those who watch it, that a run of it was ended from here. */
  readonly announceEnd: (lane: LaneRef, run: RunRecord) => void;
}

/** Runs: lists, one run (waiting for its end), its stream, its timeline, and cancelling it. */
export function registerRuns(app: FastifyInstance, parts: RunParts): void {
  const reads = { onRequest: parts.access.requires('runs:read') };
  app.get('/v1/runs', reads, (request) => listRuns(request, parts));
  app.get<ById>('/v1/runs/:id', reads, async (request, reply) => {
    const { wait = 0 } = parseQuery(RunQuerySchema, request.query);
    const run = await findRun(request, parts);
    if (wait === 0) return runAnswer(run);
    reply.isTimed = false;
    return runAnswer(await parts.waiters.wait(run, wait * 1000, goneSignal(reply)));
  });
  app.get<ById>('/v1/runs/:id/events', { ...reads, exposeHeadRoute: false }, (request, reply) =>
    streamRun(request, reply, parts),
  );
  const writes = { onRequest: parts.access.requires('messages:write') };
  app.post<ById>('/v1/runs/:id/cancel', writes, (request) => cancelRun(request, parts));
  app.get<ById>('/v1/events/:id/timeline', reads, (request) => readTimeline(request, parts));
}

interface ById {
  Params: { id: string };
}

const Nothing = z.strictObject({});

/** A run as callers see it. */
function runAnswer(run: RunRecord): Run {
  const runId = formatId('run', run.runId);
  return {
    runId,
    eventId: `evt${runId.slice('run'.length)}`,
    sessionKey: run.sessionKey,
    ...(run.sessionId === null ? {} : { sessionId: formatId('ses', run.sessionId) }),
    ...(run.turnId === null ? {} : { turnId: formatId('trn', run.turnId) }),
    status: run.status,
    ...(run.inputId === undefined ? {} : { inputId: formatId('inp', run.inputId) }),
    ...(run.question === undefined ? {} : { input: questionOf(run.question) }),
    attempts: run.attempts,
    ...(run.reply === null ? {} : { reply: replyOf(run.reply) }),
    ...(run.errorCode === null ? {} : { error: { code: run.errorCode } }),
    createdAt: run.createdAt.toISOString(),
    ...(run.startedAt === null ? {} : { startedAt: run.startedAt.toISOString() }),
    ...(run.finishedAt === null ? {} : { finishedAt: run.finishedAt.toISOString() }),
  };
}

function questionOf({ kind, text, options, expiresAt }: RunQuestion): NonNullable<Run['input']> {
  return { kind, prompt: text, ...(options && { options: [...options] }), expiresAt: expiresAt.toISOString() };
}

function replyOf({ text, attachments }: NonNullable<RunRecord['reply']>): NonNullable<Run['reply']> {
  if (attachments === undefined) return { text };
  const shown = attachments.flatMap<ShownAttachment>((given) => ShownAttachmentSchema.safeParse(given).data ?? []);
  return { text, attachments: shown };
}

async function listRuns(request: FastifyRequest, { access, runs, targets }: RunParts): Promise<RunList> {
  const { tenant } = access.callerOf(request);
  const { limit = LIST_LIMIT_DEFAULT, agentId, ...filter } = parseQuery(RunListQuerySchema, request.query);
  const agent = agentId === undefined ? null : await targets.agent(tenant.tenantId, agentId);
  const page = await runs.list(tenant.tenantId, { ...filter, limit, agentId: agent?.agentId });
  return { data: page.rows.map(runAnswer), nextCursor: page.nextCursor, hasMore: page.nextCursor !== null };
}

async function findRun(request: FastifyRequest<ById>, { access, runs }: RunParts): Promise<RunRecord> {
  const runId = parseId<EventId>(request.params.id, 'run');
  const run = runId === null ? null : await runs.get(access.callerOf(request).tenant.tenantId, runId);
  if (run === null) throw noRun();
  return run;
}

async function streamRun(request: FastifyRequest<ById>, reply: FastifyReply, parts: RunParts): Promise<FastifyReply> {
  const { types, deltas, tools, ...query } = parseQuery(RunStreamQuerySchema, request.query);
  const cursor = cursorOf(query, request.headers['last-event-id']);
  const run = await findRun(request, parts);
  const joined = await parts.streams.join(run.lane);
  try {
    const filter = { types, deltas, tools };
    await joined.serve(reply, { run, caller: parts.access.callerOf(request), filter, cursor });
    return reply;
  } catch (error) {
    joined.close();
    throw error;
  }
}

async function cancelRun(request: FastifyRequest<ById>, parts: RunParts): Promise<Run> {
  parseQuery(Nothing, request.query);
  parseBody(Nothing, request.body ?? {});
  const { tenantId } = parts.access.callerOf(request).tenant;
  const runId = parseId<EventId>(request.params.id, 'run');
  if (runId === null) throw noRun();
  const outcome = await parts.control.cancelRun(tenantId, runId);
  if (outcome.result === 'missing') throw noRun();
  if (outcome.result === 'final') throw new AppError({ code: 'run_final', message: 'the run has already ended' });
  if (outcome.turnId !== null) parts.signals.stopTurn(tenantId, outcome.turnId);
  const run = await findRun(request, parts);
  parts.announceEnd(outcome.lane, run);
  return runAnswer(run);
}

async function readTimeline(request: FastifyRequest<ById>, { access, timelines }: RunParts): Promise<Timeline> {
  parseQuery(Nothing, request.query);
  const eventId = parseId<EventId>(request.params.id, 'evt', 'run');
  const found = eventId === null ? null : await timelines.of(access.callerOf(request).tenant.tenantId, eventId);
  if (found === null) throw noRun();
  const runId = formatId('run', found.run.runId);
  return {
    eventId: formatId('evt', found.run.runId),
    runId,
    sessionKey: found.run.sessionKey,
    status: found.run.status,
    data: found.entries.map(entryAnswer),
  };
}

function entryAnswer(entry: TimelineEntry): Timeline['data'][number] {
  return {
    at: entry.at.toISOString(),
    step: entry.step,
    ...(entry.node === null ? {} : { node: entry.node }),
    ...(entry.nodeName === null ? {} : { nodeName: entry.nodeName }),
    ...(entry.turnId === null ? {} : { turnId: formatId('trn', entry.turnId) }),
    ...(entry.attempt === null ? {} : { attempt: entry.attempt }),
    ...(entry.status === null ? {} : { status: entry.status }),
    ...(entry.reason === null ? {} : { reason: entry.reason }),
    ...(entry.deliveryId === null ? {} : { deliveryId: formatId('dlv', entry.deliveryId) }),
    ...(entry.errorCode === null ? {} : { code: entry.errorCode }),
    ...(entry.inputId === null ? {} : { inputId: formatId('inp', entry.inputId) }),
    ...(entry.question === null ? {} : { question: entry.question }),
  };
}

function noRun(): AppError {
  return new AppError({ code: 'run_not_found', message: 'no such run' });
}

/** Aborts when the caller has gone, or was answered. */
function goneSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
}
