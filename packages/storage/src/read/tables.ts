/** The tables that are read and written through the query builder. A test compares them with the live database. */
import type { EventBody, Source, StoredAccount, StoredAgent, TenantConfig, TenantLimits } from '@turnkeeper/core';
import {
  bool,
  bytes,
  type Column,
  date,
  int2,
  int4,
  int8,
  int8s,
  json,
  numeric,
  orDefault,
  orNull,
  type TableOf,
  text,
  texts,
  time,
  uuid,
  uuids,
} from './columns.ts';

const tenants = {
  id: uuid,
  name: text,
  status: orDefault(text as Column<TenantConfig['status']>),
  limits: orDefault(json<TenantLimits>()),
  time_zone: orDefault(text),
  data_key: bytes,
  version: orDefault(int4),
  created_at: orDefault(time),
  updated_at: orDefault(time),
};

const operatorKeys = {
  id: uuid,
  key_id: text,
  name: text,
  hash: bytes,
  created_at: orDefault(time),
  expires_at: orNull(time),
  revoked_at: orNull(time),
};

const apiKeys = {
  id: uuid,
  tenant_id: uuid,
  key_id: text,
  name: text,
  hash: bytes,
  scopes: texts,
  preset: orNull(text),
  version: orDefault(int4),
  created_at: orDefault(time),
  expires_at: orNull(time),
  revoked_at: orNull(time),
  last_used_at: orNull(time),
};

const deletions = {
  id: uuid,
  name: text,
  requested_by: text,
  requested_at: orDefault(time),
  finished_at: orNull(time),
  rows: orDefault(json<Readonly<Record<string, number>>>()),
};

const agents = {
  id: uuid,
  tenant_id: uuid,
  name: text,
  version: int4,
  created_at: orDefault(time),
  updated_at: orDefault(time),
  deleted_at: orNull(time),
  resets: orDefault(bool),
};

const agentVersions = {
  tenant_id: uuid,
  agent_id: uuid,
  version: int4,
  config: json<StoredAgent>(),
  secrets: orNull(bytes),
  created_at: orDefault(time),
};

const accounts = {
  id: uuid,
  tenant_id: uuid,
  agent_id: uuid,
  name: text,
  channel: text,
  version: int4,
  created_at: orDefault(time),
  updated_at: orDefault(time),
  deleted_at: orNull(time),
};

const accountVersions = {
  tenant_id: uuid,
  account_id: uuid,
  version: int4,
  config: json<StoredAccount>(),
  secrets: orNull(bytes),
  created_at: orDefault(time),
};

const lanes = {
  slot: int2,
  tenant_id: uuid,
  id: uuid,
  agent_id: uuid,
  key: text,
  source: orDefault(json<Source>()),
  session_id: orNull(uuid),
  fence: orDefault(int8),
  turn_id: orNull(uuid),
  boot_id: orNull(uuid),
  turn_ords: orNull(int8s),
  turn_seq: orNull(int8),
  turn_started_at: orNull(time),
  turn_reason: orNull(int2),
  turn_resume_of: orNull(uuid),
  turn_agent_version: orNull(int4),
  resume_of: orNull(uuid),
  resume_pending: orNull(text),
  resumes: orDefault(int2),
  suspended: orDefault(bool),
  paused: orDefault(bool),
  waits_for: orNull(uuid),
  seq: orDefault(int8),
  label: orNull(text),
  erased: orDefault(bool),
  session_state: orDefault(int2),
  last_activity_at: orDefault(time),
  created_at: orDefault(time),
};

const sessions = {
  slot: int2,
  tenant_id: uuid,
  id: uuid,
  lane_id: uuid,
  previous_id: orNull(uuid),
  status: orDefault(text as Column<'active' | 'expired' | 'archived'>),
  started_reason: orDefault(text),
  created_at: orDefault(time),
  ended_at: orNull(time),
  end_reason: orNull(text),
  switched_at: orNull(time),
};

const events = {
  slot: int2,
  tenant_id: uuid,
  lane_id: uuid,
  ord: orDefault(int8),
  id: uuid,
  kind: orDefault(int2),
  state: orDefault(int2),
  attempts: orDefault(int2),
  account_id: orNull(uuid),
  turn_id: orNull(uuid),
  session_id: orNull(uuid),
  seq: orNull(int8),
  end_seq: orNull(int8),
  body: json<EventBody>(),
  error: orNull(json<{ readonly code?: string }>()),
  traceparent: orNull(text),
  accepted_by: orNull(uuid),
  accepted_at: orDefault(time),
  started_at: orNull(time),
  settled_at: orNull(time),
};

const messages = {
  slot: int2,
  tenant_id: uuid,
  lane_id: uuid,
  seq: int8,
  n: int2,
  id: uuid,
  session_id: uuid,
  turn_id: orNull(uuid),
  run_id: orNull(uuid),
  fence: int8,
  role: text as Column<'assistant' | 'user' | 'tool_call' | 'tool_result' | 'notice'>,
  body: json<{
    readonly text?: string;
    readonly author?: 'human';
    readonly attachments?: readonly unknown[];
    /** Words of a stopped turn, which is `turnId`. */
    readonly cut?: true;
    readonly turnId?: string;
    /** It answers this question. */
    readonly inputId?: string;
  }>(),
  started_at: orNull(time),
  at: orDefault(time),
  account_id: orNull(uuid),
  dstate: orNull(int2),
  dboot: orNull(uuid),
  dattempt: orNull(int2),
  drecovered: orDefault(bool),
  ddue: orNull(time),
  derror: orNull(json<{ readonly code?: string }>()),
  dref: orNull(text),
  dat: orNull(time),
  traceparent: orNull(text),
};

const turns = {
  slot: int2,
  tenant_id: uuid,
  lane_id: uuid,
  id: uuid,
  fence: int8,
  boot_id: uuid,
  state: int2,
  reason: orDefault(int2),
  resume_of: orNull(uuid),
  agent_id: uuid,
  agent_version: orNull(int4),
  session_id: orNull(uuid),
  ords: int8s,
  event_ids: uuids,
  seq: int8,
  end_seq: int8,
  error: orNull(json<{ readonly code?: string }>()),
  usage: orNull(json<Readonly<Record<string, number>>>()),
  started_at: time,
  ended_at: orDefault(time),
};

const inputs = {
  slot: int2,
  tenant_id: uuid,
  id: uuid,
  lane_id: uuid,
  turn_id: uuid,
  kind: text,
  prompt: json<{ readonly text?: string; readonly options?: readonly string[] }>(),
  state: orDefault(text as Column<'open' | 'answered' | 'expired' | 'cancelled'>),
  answer: orNull(json<{ readonly text: string }>()),
  expires_at: time,
  created_at: orDefault(time),
  resolved_at: orNull(time),
  call: orNull(json<{ readonly id: string; readonly name: string }>()),
};

const usage = {
  tenant_id: uuid,
  day: date,
  agent_id: uuid,
  measure: text,
  amount: orDefault(numeric),
};

const audit = {
  tenant_id: uuid,
  id: uuid,
  at: orDefault(time),
  actor: text,
  action: text,
  subject: text,
  detail: orDefault(json<Readonly<Record<string, unknown>>>()),
};

const workers = {
  boot_id: uuid,
  kind: text as Column<'session-worker' | 'coordinator' | 'ingress'>,
  state: orDefault(int2),
  name: text,
  pid: orNull(int4),
  version: text,
  turn_slots: orDefault(int4),
  started_at: orDefault(time),
  beat_at: orDefault(time),
  ended_at: orNull(time),
};

const partitions = {
  id: int2,
  owner: orNull(uuid),
  epoch: orDefault(int8),
  changed_at: orDefault(time),
};

const slots = { slot: int2, partition_id: int2 };

const leases = { name: text, holder: uuid, taken_at: orDefault(time), beat_at: orDefault(time) };

const accountPauses = { account_id: uuid, tenant_id: uuid, until: time };

/** Columns by table, for the test against the live database. */
export const TABLES = {
  'tk.tenants': tenants,
  'tk.operator_keys': operatorKeys,
  'tk.api_keys': apiKeys,
  'tk.deletions': deletions,
  'tk.agents': agents,
  'tk.agent_versions': agentVersions,
  'tk.accounts': accounts,
  'tk.account_versions': accountVersions,
  'tk.account_pauses': accountPauses,
  'tk.lanes': lanes,
  'tk.sessions': sessions,
  'tk.events': events,
  'tk.messages': messages,
  'tk.turns': turns,
  'tk.inputs': inputs,
  'tk.usage': usage,
  'tk.audit': audit,
  'tk.workers': workers,
  'tk.partitions': partitions,
  'tk.slots': slots,
  'tk.leases': leases,
};

/** What the query builder knows of the database. */
export type Tables = { [Name in keyof typeof TABLES]: TableOf<(typeof TABLES)[Name]> };
