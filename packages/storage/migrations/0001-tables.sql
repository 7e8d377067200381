-- Tables of the gateway. Hot tables lead their primary key with `slot`, so that they can be partitioned or
-- distributed without changing a query; children point at parents by (slot, tenant, id).
-- Times are timestamptz on the database clock. Run by the owner of the schema, inside one transaction.

-- customers and what they configure ---------------------------------------------------------------------------

create table tk.tenants (
  id uuid primary key,
  name text not null unique,
  status text not null default 'active' check (status in ('active', 'suspended', 'deleting')),
  limits jsonb not null default '{}',
  time_zone text not null default 'UTC',
  data_key bytea not null,                       -- AES-256 key of the tenant's secrets, wrapped by the server's key
  version int not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now());

create table tk.operator_keys (
  id uuid primary key,
  key_id text not null unique,
  name text not null unique,
  hash bytea not null,                           -- HMAC-SHA-256 of the secret under the server's pepper
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz);

create table tk.api_keys (
  id uuid primary key,
  tenant_id uuid not null references tk.tenants (id),
  key_id text not null unique,
  name text not null,
  hash bytea not null,
  scopes text[] not null,
  preset text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  unique (tenant_id, name));

create table tk.agents (
  id uuid primary key,
  tenant_id uuid not null references tk.tenants (id),
  name text not null,
  version int not null,                          -- the pointer; versions are immutable
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (tenant_id, name),
  unique (tenant_id, id));

create table tk.agent_versions (
  tenant_id uuid not null,
  agent_id uuid not null,
  version int not null,
  config jsonb not null,                         -- without secrets
  secrets bytea,                                 -- sealed JSON {name: value}
  created_at timestamptz not null default now(),
  primary key (tenant_id, agent_id, version),
  foreign key (tenant_id, agent_id) references tk.agents (tenant_id, id));

create table tk.apps (
  id uuid primary key,
  tenant_id uuid not null references tk.tenants (id),
  platform text not null,
  external_id text not null,
  config jsonb not null default '{}',
  secrets bytea,
  created_at timestamptz not null default now(),
  unique (platform, external_id));

create table tk.accounts (
  id uuid primary key,
  tenant_id uuid not null references tk.tenants (id),
  agent_id uuid not null,
  name text not null,
  channel text not null,
  version int not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  unique (tenant_id, name),
  unique (tenant_id, id),
  foreign key (tenant_id, agent_id) references tk.agents (tenant_id, id));

create table tk.account_versions (
  tenant_id uuid not null,
  account_id uuid not null,
  version int not null,
  config jsonb not null,
  secrets bytea,
  created_at timestamptz not null default now(),
  primary key (tenant_id, account_id, version),
  foreign key (tenant_id, account_id) references tk.accounts (tenant_id, id));

-- the lanes and what happens in them ----------------------------------------------------------------------------

create table tk.lanes (
  slot smallint not null,
  tenant_id uuid not null,
  id uuid not null,                              -- computed: first 16 bytes of SHA-256(tenant, agent, key)
  agent_id uuid not null,
  key text not null,
  source jsonb not null default '{}',            -- where the first event came from; immutable
  session_id uuid,
  fence bigint not null default 0,               -- only grows
  turn_id uuid,                                  -- null = no turn is running; the turn_* columns after it may be old
  boot_id uuid,
  turn_ords bigint[],                            -- events.ord of the running turn
  turn_seq bigint,                               -- lane seq of its claim
  turn_started_at timestamptz,
  turn_reason smallint,                          -- 0 message, 1 resume, 2 wake, 3 spawn, 4 input
  turn_resume_of uuid,
  turn_agent_version int,
  resume_of uuid,                                -- interrupted turn that is owed its one automatic resume
  resume_pending text,                           -- reason; only adds the note to the next turn
  resumes smallint not null default 0,           -- consecutive crash resumes
  suspended boolean not null default false,
  paused boolean not null default false,
  waits_for uuid,                                -- input that a turn waits for
  seq bigint not null default 0,
  label text,
  last_activity_at timestamptz not null default now(),
  created_at timestamptz not null default now()
) with (fillfactor = 70);
-- turn_id must not stand in an index predicate: claims and commits would no longer be HOT
create index lanes_resume on tk.lanes (slot) where resume_of is not null;
create index lanes_key on tk.lanes (tenant_id, key);
create index lanes_created on tk.lanes (tenant_id, created_at, id);

create table tk.sessions (
  slot smallint not null,
  tenant_id uuid not null,
  id uuid not null,
  lane_id uuid not null,
  previous_id uuid,
  status text not null default 'active' check (status in ('active', 'expired', 'archived')),
  started_reason text not null default 'first',
  created_at timestamptz not null default now(),
  ended_at timestamptz
) with (fillfactor = 80);
create index sessions_lane on tk.sessions (slot, tenant_id, lane_id);
create index sessions_id on tk.sessions (id);

create table tk.events (                         -- inbound: queue entry = the user's transcript entry
  slot smallint not null,
  tenant_id uuid not null,
  lane_id uuid not null,
  ord bigint generated always as identity (cache 1),
  id uuid not null,                              -- made by the accepting ingress; evt_ and run_ share it
  kind smallint not null default 0,              -- 0 message, 1 command, 2 wake
  state smallint not null default 0,             -- 0 queued (or running: see the lane), 1 resuming, 2 waiting, finals from 10: see event states
  attempts smallint not null default 0,          -- raised by whatever ends a turn of it
  account_id uuid,                               -- the reply is owed through it; null: proven by the commit
  turn_id uuid,                                  -- the last turn that ended with it
  session_id uuid,
  seq bigint,                                    -- lane seq of the claim that consumed it
  end_seq bigint,                                -- lane seq of the transaction that ended it
  body jsonb not null,
  error jsonb,
  traceparent text,
  accepted_by uuid,                              -- boot id of the ingress
  accepted_at timestamptz not null default now(),
  started_at timestamptz,
  settled_at timestamptz
) with (fillfactor = 80);
-- everything unfinished: the queue, the owner's scan, the position of an accepted event, and the way to every running turn
create index events_open on tk.events (slot, tenant_id, lane_id, ord) where state < 10;
-- a run is found by its id, and a tenant's runs are listed newest first (the ids are UUIDv7): one index for both
create index events_id on tk.events (tenant_id, id);

create table tk.dedupe_keys (
  tenant_id uuid not null,
  scope uuid not null,                           -- hash of route and principal, or the account
  key text not null,
  body_hash bytea not null,
  event_id uuid not null,
  slot smallint not null,
  lane_id uuid not null,
  at timestamptz not null default now(),
  primary key (tenant_id, scope, key));
create index dedupe_keys_at on tk.dedupe_keys (at);

create table tk.messages (                       -- outbound: transcript entry = outbox entry; steps too
  slot smallint not null,
  tenant_id uuid not null,
  lane_id uuid not null,
  seq bigint not null,
  n smallint not null,
  id uuid not null,                              -- msg_ and dlv_ share it
  session_id uuid not null,
  turn_id uuid,
  run_id uuid,                                   -- first event of the turn
  fence bigint not null,
  role text not null,                            -- assistant, tool_call, tool_result, notice
  body jsonb not null,
  started_at timestamptz,
  at timestamptz not null default now(),
  account_id uuid,
  dstate smallint,                               -- null nothing owed, 0 pending, 1 sending, 2 delivered, 3 failed, 4 unknown, 5 abandoned
  dboot uuid,
  dattempt smallint,                             -- sends started
  drecovered boolean not null default false,     -- the next or last send is the one resend of an unknown outcome
  ddue timestamptz,                              -- not before
  derror jsonb,
  dref text,                                     -- platform ids
  dat timestamptz,
  traceparent text
) with (fillfactor = 80);
-- what may stand before a later delivery of its conversation: pending, sending, and unknown while its resend is to come
create index messages_owed on tk.messages (slot, tenant_id, lane_id, seq, n) where dstate in (0, 1, 4);
create index messages_unknown on tk.messages (slot) where dstate = 4 and not drecovered;
create index messages_id on tk.messages (id);

create table tk.turns (                          -- one row, written by whatever ends the turn
  slot smallint not null,
  tenant_id uuid not null,
  lane_id uuid not null,
  id uuid not null,
  fence bigint not null,
  boot_id uuid not null,
  state smallint not null,                       -- see turn states
  reason smallint not null default 0,
  resume_of uuid,
  agent_id uuid not null,
  agent_version int,
  session_id uuid,
  ords bigint[] not null,
  event_ids uuid[] not null,
  seq bigint not null,
  end_seq bigint not null,
  error jsonb,
  usage jsonb,
  started_at timestamptz not null,
  ended_at timestamptz not null default clock_timestamp()
);
create index turns_id on tk.turns (id);

create table tk.inputs (                         -- a turn that waits for a person
  slot smallint not null,
  tenant_id uuid not null,
  id uuid not null,
  lane_id uuid not null,
  turn_id uuid not null,
  kind text not null,
  prompt jsonb not null,
  state text not null default 'open' check (state in ('open', 'answered', 'expired', 'cancelled')),
  answer jsonb,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  resolved_at timestamptz,
  primary key (slot, tenant_id, id));
create index inputs_open on tk.inputs (expires_at) where state = 'open';

create table tk.spawns (                         -- a lane started by a turn of another lane
  tenant_id uuid not null references tk.tenants (id),
  id uuid not null,
  parent_slot smallint not null,
  parent_lane_id uuid not null,
  parent_turn_id uuid,
  child_slot smallint not null,
  child_lane_id uuid not null,
  status text not null default 'running',
  config jsonb not null default '{}',
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  primary key (tenant_id, id));

-- who may write, and where it is routed -------------------------------------------------------------------------

create table tk.bindings (
  tenant_id uuid not null references tk.tenants (id),
  id uuid not null,
  account_id uuid not null,
  agent_id uuid not null,
  match jsonb not null default '{}',
  position int not null default 0,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id));

create table tk.access (
  tenant_id uuid not null references tk.tenants (id),
  account_id uuid not null,
  subject text not null,
  role text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, account_id, subject));

create table tk.pairing (
  tenant_id uuid not null references tk.tenants (id),
  account_id uuid not null,
  code text not null,
  subject text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, account_id, code));

create table tk.usage (
  tenant_id uuid not null references tk.tenants (id),
  day date not null,
  agent_id uuid not null,
  measure text not null,
  amount numeric not null default 0,
  primary key (tenant_id, day, agent_id, measure));

create table tk.audit (
  tenant_id uuid not null references tk.tenants (id),
  id uuid not null,
  at timestamptz not null default clock_timestamp(),
  actor text not null,
  action text not null,
  subject text not null,
  detail jsonb not null default '{}',
  primary key (tenant_id, id));
create index audit_at on tk.audit (tenant_id, at);

-- the cluster itself: no tenant ---------------------------------------------------------------------------------

create table tk.workers (
  boot_id uuid primary key,
  kind text not null check (kind in ('session-worker', 'coordinator', 'ingress')),
  state smallint not null default 0,             -- 0 live, 1 leaving, 2 gone, 3 dead; gone and dead are final
  name text not null,                            -- for people: host name or process name
  pid int,
  version text not null,
  turn_slots int not null default 0,
  started_at timestamptz not null default clock_timestamp(),
  beat_at timestamptz not null default clock_timestamp(),
  ended_at timestamptz,                          -- gone or dead since
  swept_at timestamptz,                          -- start of the last whole look that found nothing running or sending in its name
  woke smallint not null default 0,              -- 1 declared dead, yet heard of again; 2 the same, and counted
  stale_commits int not null default 0);         -- commits refused after it was declared dead, not yet counted by the leader
create index workers_open on tk.workers (kind) where state in (0, 1);

create table tk.partitions (
  id smallint primary key,
  owner uuid,                                    -- boot id; null = free
  epoch bigint not null default 0,               -- raised by every change of owner
  changed_at timestamptz not null default clock_timestamp());

create table tk.slots (
  slot smallint primary key check (slot between 0 and 4095),
  partition_id smallint not null references tk.partitions (id));

create table tk.leases (
  name text primary key,
  holder uuid not null,
  taken_at timestamptz not null default clock_timestamp(),
  beat_at timestamptz not null default clock_timestamp());

create table tk.tenant_load (                    -- written by the leader, read by every ingress: queued events per tenant
  tenant_id uuid primary key references tk.tenants (id),
  queued bigint not null,
  measured_at timestamptz not null default clock_timestamp());

-- Last of all indexes: while a table is small, or was when a plan was made, every index that a condition fits looks equally
-- cheap, and PostgreSQL then takes the newest. Seen otherwise: lanes looked for among all of their tenant's, at each step.
alter table tk.lanes add primary key (slot, tenant_id, id);
alter table tk.sessions add primary key (slot, tenant_id, id);
alter table tk.events add primary key (slot, tenant_id, lane_id, ord);
alter table tk.messages add primary key (slot, tenant_id, lane_id, seq, n);
alter table tk.turns add primary key (slot, tenant_id, lane_id, seq);

-- the one foreign key on the hot path: it alone refuses an event whose lane retention deletes at the same moment
alter table tk.events add constraint events_lane foreign key (slot, tenant_id, lane_id) references tk.lanes (slot, tenant_id, id);
alter table tk.lanes add constraint lanes_tenant foreign key (tenant_id) references tk.tenants (id);
