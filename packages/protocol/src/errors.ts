import type { HttpErrorCode, RunErrorCode } from '@turnkeeper/core';

export interface HttpErrorInfo {
  readonly status: number;
  /** True when the same request may succeed later. */
  readonly retryable: boolean;
  /** What is wrong and what to do; also the problem document's title. */
  readonly text: string;
}

/** Every code an HTTP answer may carry (surface §5). Codes never change meaning; `docs/errors.md` is made from this table. */
export const HTTP_ERRORS: Readonly<Record<HttpErrorCode, HttpErrorInfo>> = {
  invalid_json: bad(
    'The body is not JSON in UTF-8, or is encoded. Send one JSON object with content-type application/json.',
  ),
  invalid_field: bad('A field has a value that is not allowed. The errors list names it.'),
  unknown_field: bad('A field is not known here. Check its spelling; nothing was stored.'),
  missing_field: bad('A field is missing. The errors list names it.'),
  invalid_cursor: bad('The cursor was not made by this list. Start again without it.'),
  invalid_limit: bad('The limit is out of range.'),
  malformed_key: bad('The session key is empty, longer than 512 bytes, or holds control characters.'),
  no_selector: bad('Say which conversation is meant: source or sessionKey.'),
  multiple_selectors: bad('Give either source or sessionKey, not both.'),
  unsupported_param: bad('A query parameter is not known here or has a value that is not allowed.'),
  unauthenticated: {
    status: 401,
    retryable: false,
    text: 'No valid key. Send Authorization: Bearer tk_<id>_<secret>.',
  },
  key_expired: { status: 401, retryable: false, text: 'The key has expired. Make a new one.' },
  key_revoked: { status: 401, retryable: false, text: 'The key was revoked. Make a new one.' },
  token_expired: { status: 401, retryable: false, text: 'The token has expired. Ask for a new one.' },
  signature_invalid: {
    status: 401,
    retryable: false,
    text: 'The signature does not match. Check the secret on both sides.',
  },
  signature_stale: {
    status: 401,
    retryable: false,
    text: "The signed time is too far from now. Check the sender's clock.",
  },
  scope_missing: denied('The key lacks the scope that this call needs.'),
  origin_not_allowed: denied('This origin is not on the list of the account.'),
  tenant_suspended: denied('The tenant is suspended. Ask the operator.'),
  sender_not_allowed: denied('This sender may not write here.'),
  agent_not_allowed: denied('This key may not reach that agent.'),
  not_found: missing('No such path, or nothing there of that name or id.'),
  run_not_found: missing('No such run.'),
  session_not_found: missing('No such session.'),
  agent_not_found: missing('No such agent.'),
  account_not_found: missing('No such account.'),
  idempotency_mismatch: conflict(
    'The idempotency key was used before with another body. Use a new key for a new message.',
  ),
  agent_mismatch: conflict('The account belongs to another agent. Leave agentId out or name its agent.'),
  label_in_use: conflict('Another conversation of this agent has this label.'),
  ambiguous: conflict('The key exists under several agents. Add agentId.'),
  main_session: conflict('The main conversation of an agent is never archived or deleted. Reset it instead.'),
  cannot_change: conflict('This property cannot be changed once it is set.'),
  lane_busy: conflict('Something runs or waits in this conversation that this would end.'),
  lane_paused: conflict('The conversation is paused.'),
  nothing_to_stop: conflict('Nothing that you may stop runs or waits in this conversation.'),
  run_final: conflict('The run has already ended.'),
  input_closed: conflict('The question was answered, has expired or was withdrawn.'),
  gone: { status: 410, retryable: false, text: 'This existed and was removed for good.' },
  version_conflict: {
    status: 412,
    retryable: false,
    text: 'Somebody changed it meanwhile. Read it again and repeat the change.',
  },
  attachment_too_large: {
    status: 413,
    retryable: false,
    text: 'The file is larger than files may be here.',
  },
  body_too_large: { status: 413, retryable: false, text: 'Bodies are at most 1 MiB, texts at most 256 KiB.' },
  config_invalid: {
    status: 422,
    retryable: false,
    text: 'The configuration contradicts itself. The errors list says where.',
  },
  secret_unresolved: { status: 422, retryable: false, text: 'A secret is named but was not given.' },
  egress_blocked: { status: 422, retryable: false, text: 'That address may not be called from here.' },
  upload_incomplete: {
    status: 422,
    retryable: false,
    text: 'The file is not known here, not whole, or has expired. Upload it, then name it.',
  },
  file_count_exceeded: { status: 422, retryable: false, text: 'The message names more files than one may.' },
  total_bytes_exceeded: { status: 422, retryable: false, text: 'The files of the message are too large together.' },
  rate_limited: {
    status: 429,
    retryable: true,
    text: 'Too many requests for the rate of this tenant. Wait for Retry-After.',
  },
  quota_exceeded: { status: 429, retryable: true, text: 'The quota of this tenant is used up.' },
  lane_full: {
    status: 429,
    retryable: true,
    text: 'Too many messages wait in this conversation. Nothing was accepted.',
  },
  tenant_queue_full: {
    status: 429,
    retryable: true,
    text: 'Too many messages of this tenant wait. Nothing was accepted.',
  },
  too_many_waiters: {
    status: 429,
    retryable: true,
    text: 'Too many calls wait on this node. Poll without wait, or try again.',
  },
  too_many_streams: { status: 429, retryable: true, text: 'Too many streams are open on this node. Try again later.' },
  internal: { status: 500, retryable: true, text: 'A fault of the server. Quote the requestId when you report it.' },
  agent_unreachable: { status: 502, retryable: true, text: 'The agent could not be reached.' },
  agent_bad_response: { status: 502, retryable: true, text: 'The agent answered something that cannot be used.' },
  store_unavailable: unavailable(
    'The store does not answer. Nothing was confirmed: repeat with the same idempotency key.',
  ),
  overloaded: unavailable('More is waiting than this node may hold. Nothing was accepted: try again.'),
  draining: unavailable('This node is going away. Try again: another one answers.'),
  schema_mismatch: unavailable('This node does not fit the database. Try again: another one answers.'),
  deadline_exceeded: { status: 504, retryable: true, text: 'No answer in time. The run goes on.' },
};

/** Every code of `run.error.code`, with what it means for the sender of the message. */
export const RUN_ERRORS: Readonly<Record<RunErrorCode, string>> = {
  model_error: 'The model answered with an error.',
  model_rate_limited: 'The model refused for its rate limit, also after retries.',
  model_auth: 'The model refused the credential of the agent.',
  model_refused: 'The model declined to answer.',
  context_overflow: 'The conversation does not fit into the model.',
  agent_unreachable: 'The endpoint of the agent could not be reached.',
  agent_bad_response: 'The endpoint of the agent answered something that cannot be used.',
  agent_error: 'The agent failed.',
  tool_loop: 'The agent called the same tools over and over and was stopped.',
  bot_loop: 'Two bots answered each other over and over and were stopped.',
  hop_budget: 'Sessions sent to each other too often and were stopped.',
  spend_limit: 'The spending limit is reached.',
  inactivity_timeout: 'The agent was silent for too long.',
  turn_timeout: 'The turn took longer than it may.',
  worker_lost_too_often: 'The turn lost its worker three times in a row; the conversation was suspended.',
  poison: 'The message failed again and again and was set aside.',
  stopped: 'Somebody stopped the turn.',
  fenced: 'The turn was taken from its worker.',
  input_expired: 'The person who was asked did not answer in time.',
  config_missing: 'The agent or account of the run no longer exists.',
  egress_blocked: 'The address of the agent may not be called from here.',
  internal: 'A fault of the server.',
};

function bad(text: string): HttpErrorInfo {
  return { status: 400, retryable: false, text };
}
function denied(text: string): HttpErrorInfo {
  return { status: 403, retryable: false, text };
}
function missing(text: string): HttpErrorInfo {
  return { status: 404, retryable: false, text };
}
function conflict(text: string): HttpErrorInfo {
  return { status: 409, retryable: false, text };
}
function unavailable(text: string): HttpErrorInfo {
  return { status: 503, retryable: true, text };
}
