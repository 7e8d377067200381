/** Every route of the HTTP API, with its schemas: what `openapi.json` is made from. */
import type { HttpErrorCode } from '@turnkeeper/core';
import * as configuration from '../http/configuration.ts';
import { NoQuerySchema, PageQuerySchema } from '../http/fields.ts';
import * as inputs from '../http/inputs.ts';
import * as messages from '../http/messages.ts';
import * as runs from '../http/runs.ts';
import * as sessions from '../http/sessions.ts';
import { RunStreamQuerySchema, StreamQuerySchema, TenantStreamQuerySchema } from '../stream.ts';
import { ATTACHMENTS } from './attachments.ts';
import { CHAT_COMPLETIONS } from './chat-completions.ts';
import { CLUSTER } from './cluster.ts';
import { DELIVERIES } from './deliveries.ts';
import type { Operation } from './operation.ts';
import { REPLAYS } from './replays.ts';
import { changed, RESOURCES, resourceOperations } from './resources.ts';
import { SEARCH } from './search.ts';
import { USAGE } from './usage.ts';
import { VISITORS } from './visitors.ts';

const { TenantSchema } = configuration;

/** Of what a message names. */
const FILE_ERRORS = ['upload_incomplete', 'file_count_exceeded', 'total_bytes_exceeded'] as const;

const TENANTS: readonly Operation[] = [
  {
    method: 'get',
    path: '/admin/v1/tenants',
    id: 'adminListTenants',
    summary: 'List tenants by name',
    door: 'operator',
    query: PageQuerySchema,
    answers: { 200: configuration.TenantListSchema },
  },
  {
    method: 'get',
    path: '/admin/v1/tenants/{tenant}',
    id: 'adminGetTenant',
    summary: 'Read a tenant',
    door: 'operator',
    versioned: true,
    query: NoQuerySchema,
    answers: { 200: TenantSchema },
  },
  {
    method: 'put',
    path: '/admin/v1/tenants/{tenant}',
    id: 'adminPutTenant',
    summary: 'Bring a tenant and its parts to the body, all or nothing',
    door: 'operator',
    versioned: true,
    query: configuration.PutTenantQuerySchema,
    body: configuration.TenantBodySchema,
    answers: { 200: changed(TenantSchema), 201: changed(TenantSchema) },
    errors: ['version_conflict', 'cannot_change', 'config_invalid'],
  },
  {
    method: 'patch',
    path: '/admin/v1/tenants/{tenant}',
    id: 'adminUpdateTenant',
    summary: 'Change a tenant, suspend it, let it go on',
    door: 'operator',
    versioned: true,
    query: NoQuerySchema,
    body: configuration.TenantPatchSchema,
    answers: { 200: changed(TenantSchema) },
    errors: ['version_conflict', 'cannot_change', 'config_invalid'],
  },
  {
    method: 'delete',
    path: '/admin/v1/tenants/{tenant}',
    id: 'adminDeleteTenant',
    summary: 'Delete a tenant and all it has, in the background',
    door: 'operator',
    versioned: true,
    query: NoQuerySchema,
    answers: { 202: configuration.TenantReceiptSchema },
    errors: ['version_conflict'],
  },
  {
    method: 'get',
    path: '/admin/v1/tenants/{tenant}/receipt',
    id: 'adminGetTenantReceipt',
    summary: 'Read the receipt of a deletion',
    door: 'operator',
    query: NoQuerySchema,
    answers: { 200: configuration.TenantReceiptSchema },
  },
];

const MESSAGES: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/messages',
    id: 'createMessage',
    summary: 'Send a message; its run is its fate',
    door: 'messages:write',
    query: messages.MessageQuerySchema,
    body: messages.MessageRequestSchema,
    answers: { 200: 'events', 202: messages.MessageAnswerSchema },
    idempotent: true,
    errors: [
      'no_selector',
      'multiple_selectors',
      'malformed_key',
      'agent_not_found',
      'account_not_found',
      'agent_mismatch',
      'lane_full',
      'tenant_queue_full',
      'too_many_streams',
      ...FILE_ERRORS,
    ],
  },
  {
    method: 'post',
    path: '/hooks/{account}',
    id: 'receiveHook',
    summary: 'A platform brings messages',
    door: 'signature',
    answers: { 200: null, 202: null },
  },
  {
    method: 'get',
    path: '/v1/runs',
    id: 'listRuns',
    summary: 'List runs, newest first',
    door: 'runs:read',
    query: runs.RunListQuerySchema,
    answers: { 200: runs.RunListSchema },
    errors: ['agent_not_found'],
  },
  {
    method: 'get',
    path: '/v1/runs/{id}',
    id: 'getRun',
    summary: 'Read a run, or wait for its end',
    door: 'runs:read',
    query: runs.RunQuerySchema,
    answers: { 200: runs.RunSchema },
    errors: ['run_not_found', 'too_many_waiters'],
  },
  {
    method: 'get',
    path: '/v1/runs/{id}/events',
    id: 'streamRun',
    summary: 'The events of a run, from its beginning or a cursor on to its end',
    door: 'runs:read',
    query: RunStreamQuerySchema,
    answers: { 200: 'events' },
    errors: ['run_not_found', 'invalid_cursor', 'gone', 'too_many_streams'],
  },
  {
    method: 'post',
    path: '/v1/runs/{id}/cancel',
    id: 'cancelRun',
    summary: 'Cancel a run',
    door: 'messages:write',
    answers: { 200: runs.RunSchema },
    errors: ['run_not_found', 'run_final'],
  },
  {
    method: 'get',
    path: '/v1/events/{id}/timeline',
    id: 'getTimeline',
    summary: 'What happened to an event',
    door: 'runs:read',
    answers: { 200: runs.TimelineSchema },
    errors: ['run_not_found'],
  },
  {
    method: 'get',
    path: '/v1/events',
    id: 'streamTenant',
    summary: 'The events of all conversations, from a cursor on or from now on',
    door: 'sessions:read',
    query: TenantStreamQuerySchema,
    answers: { 200: 'events' },
    errors: ['invalid_cursor', 'too_many_streams'],
  },
  {
    method: 'get',
    path: '/v1/sessions',
    id: 'listSessions',
    summary: 'List conversations',
    door: 'sessions:read',
    query: sessions.SessionListQuerySchema,
    answers: { 200: sessions.SessionListSchema },
    errors: ['agent_not_found'],
  },
  {
    method: 'get',
    path: '/v1/sessions/{session}',
    id: 'getSession',
    summary: 'Read a conversation',
    door: 'sessions:read',
    query: sessions.SessionQuerySchema,
    answers: { 200: sessions.SessionSchema },
    errors: ['session_not_found', 'agent_not_found', 'ambiguous', 'malformed_key'],
  },
  {
    method: 'get',
    path: '/v1/sessions/{session}/history',
    id: 'getHistory',
    summary: 'Read the messages of a conversation',
    door: 'sessions:read',
    visitors: true,
    query: sessions.HistoryQuerySchema,
    answers: { 200: sessions.HistorySchema },
    errors: ['session_not_found', 'agent_not_found', 'ambiguous', 'malformed_key'],
  },
  {
    method: 'get',
    path: '/v1/sessions/{session}/events',
    id: 'streamSession',
    summary: 'The events of a conversation, from a seq on or from now on',
    door: 'sessions:read',
    visitors: true,
    query: StreamQuerySchema,
    answers: { 200: 'events' },
    errors: [
      'session_not_found',
      'agent_not_found',
      'ambiguous',
      'malformed_key',
      'invalid_cursor',
      'too_many_streams',
    ],
  },
];

const SESSION = { door: 'sessions:write', query: sessions.SessionQuerySchema } as const;
const SESSION_ERRORS: readonly HttpErrorCode[] = [
  'session_not_found',
  'agent_not_found',
  'ambiguous',
  'malformed_key',
  'cannot_change',
  'lane_busy',
];
const CONTROL_ERRORS: Readonly<Record<string, readonly HttpErrorCode[]>> = {
  stop: ['nothing_to_stop'],
  archive: ['main_session'],
};
const CONTROL: readonly Operation[] = [
  ...['stop', 'suspend', 'resume', 'archive', 'pause', 'unpause'].map(
    (verb): Operation => ({
      ...SESSION,
      ...(verb === 'stop' && { visitors: true as const }),
      method: 'post',
      path: `/v1/sessions/{session}/${verb}`,
      id: `${verb}Session`,
      summary: `Control a conversation: ${verb}`,
      answers: { 200: sessions.SessionControlSchema },
      errors: [...SESSION_ERRORS, ...(CONTROL_ERRORS[verb] ?? [])],
    }),
  ),
  {
    ...SESSION,
    method: 'post',
    path: '/v1/sessions/{session}/reset',
    id: 'resetSession',
    summary: 'Begin a new session',
    body: sessions.SessionResetSchema,
    answers: { 200: sessions.SessionControlSchema },
    idempotent: true,
    errors: SESSION_ERRORS,
  },
  {
    ...SESSION,
    method: 'patch',
    path: '/v1/sessions/{session}',
    id: 'updateSession',
    summary: 'Label a conversation',
    body: sessions.SessionPatchSchema,
    answers: { 200: sessions.SessionControlSchema },
    errors: [...SESSION_ERRORS, 'label_in_use', 'version_conflict'],
  },
  {
    ...SESSION,
    method: 'delete',
    path: '/v1/sessions/{session}',
    id: 'deleteSession',
    summary: 'Delete a conversation',
    answers: { 204: null },
    errors: [...SESSION_ERRORS, 'main_session', 'version_conflict'],
  },
  {
    ...SESSION,
    method: 'post',
    path: '/v1/sessions/{session}/outbound',
    id: 'sendOutbound',
    summary: 'Send a message without a turn',
    body: sessions.OutboundRequestSchema,
    answers: { 202: sessions.OutboundAnswerSchema },
    idempotent: true,
    errors: [
      ...SESSION_ERRORS,
      'account_not_found',
      'agent_mismatch',
      'idempotency_mismatch',
      'gone',
      'lane_full',
      ...FILE_ERRORS,
    ],
  },
  {
    method: 'post',
    path: '/v1/inputs/{id}/answer',
    id: 'answerInput',
    summary: 'Answer a turn that waits for a person',
    door: 'messages:write',
    body: inputs.InputAnswerRequestSchema,
    answers: { 200: inputs.InputAnswerSchema },
    errors: ['not_found', 'input_closed'],
  },
];

const HEALTH: readonly Operation[] = [
  {
    method: 'get',
    path: '/healthz',
    id: 'health',
    summary: 'The event loop is alive',
    door: 'open',
    answers: { 200: null },
  },
  {
    method: 'get',
    path: '/readyz',
    id: 'readiness',
    summary: 'The node takes requests',
    door: 'open',
    answers: { 200: null },
  },
  {
    method: 'get',
    path: '/metrics',
    id: 'metrics',
    summary: 'Prometheus text, on the internal port',
    door: 'open',
    answers: { 200: 'text' },
  },
  {
    method: 'get',
    path: '/openapi.json',
    id: 'openapi',
    summary: 'This document',
    door: 'open',
    answers: { 200: null },
  },
];

/** A route that is not here fails the test of routes: add it here, with its schemas. */
export const OPERATIONS: readonly Operation[] = [
  ...MESSAGES,
  ...CONTROL,
  ...DELIVERIES,
  SEARCH,
  ...USAGE,
  ...VISITORS,
  ...ATTACHMENTS,
  ...CHAT_COMPLETIONS,
  ...RESOURCES.flatMap((resource) => resourceOperations(resource, false)),
  ...TENANTS,
  ...RESOURCES.flatMap((resource) => resourceOperations(resource, true)),
  ...CLUSTER,
  ...REPLAYS,
  ...HEALTH,
];
