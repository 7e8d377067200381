-- Attachments: files that were uploaded to go with messages. A row per file, its bytes in chunks, a use per message that
-- names it. A file that no message has named is gone a day later; one that was named goes with the last of its messages.

create table tk.attachments (
  tenant_id uuid not null references tk.tenants (id),
  id uuid not null,
  owner text not null,                           -- who uploaded it: key:<id>, or visitor:<account>:<sub>
  name text not null,
  mime text not null default '',
  kind text not null default 'file' check (kind in ('image', 'audio', 'video', 'file')),
  bytes bigint not null,                         -- of a file that is not whole yet: what is set aside for it
  sha256 bytea,                                  -- null: not whole yet
  idempotency_scope uuid,
  idempotency_key text,
  created_at timestamptz not null default now(),
  expires_at timestamptz,                        -- null: a message names it
  primary key (tenant_id, id));
create unique index attachments_idempotency on tk.attachments (tenant_id, idempotency_scope, idempotency_key) where idempotency_key is not null;
create index attachments_expires on tk.attachments (expires_at) where expires_at is not null;

create table tk.attachment_chunks (
  tenant_id uuid not null,
  attachment_id uuid not null,
  n int not null,
  bytes bytea not null,
  primary key (tenant_id, attachment_id, n),
  foreign key (tenant_id, attachment_id) references tk.attachments (tenant_id, id) on delete cascade);
alter table tk.attachment_chunks alter column bytes set storage external;   -- most files are compressed already

create table tk.attachment_uses (
  slot smallint not null,
  tenant_id uuid not null,
  lane_id uuid not null,
  attachment_id uuid not null,
  used_by uuid not null,                         -- id of the event or the message
  at timestamptz not null default now(),
  primary key (tenant_id, attachment_id, used_by),
  constraint attachment_uses_attachment foreign key (tenant_id, attachment_id) references tk.attachments (tenant_id, id));
create index attachment_uses_at on tk.attachment_uses (at);
create index attachment_uses_lane on tk.attachment_uses (slot, tenant_id, lane_id);

create table tk.attachment_totals (              -- what a tenant's files hold together, those that are not whole included
  tenant_id uuid primary key references tk.tenants (id),
  bytes bigint not null);

do $$
declare
  v_table text;
  v_engine constant text := $p$tenant_id in (select unnest(string_to_array(current_setting('tk.tenants', true), ',')::uuid[]))$p$;
  v_api constant text := $p$tenant_id = (select nullif(current_setting('tk.tenant', true), '')::uuid)$p$;
begin
  foreach v_table in array array['attachments', 'attachment_chunks', 'attachment_uses', 'attachment_totals'] loop
    execute format('alter table tk.%I enable row level security', v_table);
    execute format('alter table tk.%I force row level security', v_table);
    execute format('create policy engine on tk.%I to tk_engine using (' || v_engine || ') with check (' || v_engine || ')', v_table);
    execute format('create policy api on tk.%I to tk_api using (' || v_api || ') with check (' || v_api || ')', v_table);
    execute format('create policy admin on tk.%I to tk_admin using (true) with check (true)', v_table);
    execute format('create policy sweep on tk.%I to tk_sweep using (true) with check (true)', v_table);
    execute format('grant select, insert, update, delete on tk.%I to tk_engine', v_table);
    execute format('grant select on tk.%I to tk_admin', v_table);
    execute format('grant select, update, delete on tk.%I to tk_sweep', v_table);
  end loop;
end $$;

-- begin_upload: sets p_reserve bytes of the tenant's quota aside. False: there are not so many.
create function tk.begin_upload(p_tenant uuid, p_id uuid, p_owner text, p_name text, p_reserve bigint, p_quota bigint)
returns table (begun boolean) language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  if p_reserve > p_quota then return query select false; return; end if;
  insert into tk.attachment_totals as t (tenant_id, bytes) values (p_tenant, p_reserve)
    on conflict (tenant_id) do update set bytes = t.bytes + excluded.bytes where t.bytes + excluded.bytes <= p_quota;
  if not found then return query select false; return; end if;
  insert into tk.attachments (tenant_id, id, owner, name, bytes, expires_at) values (p_tenant, p_id, p_owner, p_name, p_reserve, now() + interval '1 hour');
  return query select true;
end $f$;

-- append_chunk: safe when repeated. False: there is no such upload (any more).
create function tk.append_chunk(p_tenant uuid, p_id uuid, p_n int, p_bytes bytea)
returns table (appended boolean) language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  perform 1 from tk.attachments a where a.tenant_id = p_tenant and a.id = p_id and a.sha256 is null for key share;
  if not found then return query select false; return; end if;
  insert into tk.attachment_chunks (tenant_id, attachment_id, n, bytes) values (p_tenant, p_id, p_n, p_bytes) on conflict do nothing;
  return query select true;
end $f$;

-- drop_upload: an upload that is not whole, with what it held and had set aside
create function tk.drop_upload(p_tenant uuid, p_id uuid)
returns table (dropped boolean) language plpgsql volatile security invoker as $f$
declare
  v_bytes bigint;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  delete from tk.attachments a where a.tenant_id = p_tenant and a.id = p_id and a.sha256 is null returning a.bytes into v_bytes;
  update tk.attachment_totals t set bytes = t.bytes - v_bytes where t.tenant_id = p_tenant and v_bytes is not null;
  return query select v_bytes is not null;
end $f$;

-- finish_upload: the file is whole. With an idempotency key that was used before, the new one goes and the first one is
-- the answer: stored | duplicate | mismatch (another file) | gone. Safe when repeated.
create function tk.finish_upload(p_tenant uuid, p_id uuid, p_mime text, p_kind text, p_bytes bigint, p_sha256 bytea, p_scope uuid, p_key text)
returns table (result text, id uuid) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_new tk.attachments;
  v_first tk.attachments;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  if p_key is not null then    -- two uploads with one key: the second waits here and finds the first
    perform pg_advisory_xact_lock(hashtextextended(p_tenant::text || p_scope::text || p_key, 75));
    select a.* into v_first from tk.attachments a
      where a.tenant_id = p_tenant and a.idempotency_scope = p_scope and a.idempotency_key = p_key and (a.expires_at is null or a.expires_at > now());
  end if;
  select a.* into v_new from tk.attachments a where a.tenant_id = p_tenant and a.id = p_id for no key update;
  if v_new.id is null then return query select 'gone', null::uuid; return; end if;
  if v_new.sha256 is not null then return query select 'stored', p_id; return; end if;
  if v_first.id is not null then
    perform 1 from tk.drop_upload(p_tenant, p_id);
    return query select case when v_first.sha256 = p_sha256 and v_first.name = v_new.name and v_first.mime = p_mime then 'duplicate' else 'mismatch' end, v_first.id;
    return;
  end if;
  if p_key is not null then    -- of a file that has expired and is not swept yet
    update tk.attachments a set idempotency_key = null where a.tenant_id = p_tenant and a.idempotency_scope = p_scope and a.idempotency_key = p_key;
  end if;
  update tk.attachments a
    set mime = p_mime, kind = p_kind, bytes = p_bytes, sha256 = p_sha256, idempotency_scope = p_scope, idempotency_key = p_key, expires_at = now() + interval '24 hours'
    where a.tenant_id = p_tenant and a.id = p_id;
  update tk.attachment_totals t set bytes = t.bytes - v_new.bytes + p_bytes where t.tenant_id = p_tenant;
  return query select 'stored', p_id;
end $f$;

-- attachments_of: those of these ids that are whole and not about to be deleted
create function tk.attachments_of(p_tenant uuid, p_ids uuid[])
returns table (id uuid, owner text, name text, mime text, kind text, bytes double precision, sha256 bytea, created_at timestamptz, expires_at timestamptz)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query select a.id, a.owner, a.name, a.mime, a.kind, a.bytes::double precision, a.sha256, a.created_at, a.expires_at from tk.attachments a
    where a.tenant_id = p_tenant and a.id = any (p_ids) and a.sha256 is not null and (a.expires_at is null or a.expires_at > now());
end $f$;

-- attachment_lanes: the conversations whose messages name a file
create function tk.attachment_lanes(p_tenant uuid, p_id uuid) returns table (slot smallint, lane_id uuid)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query select distinct u.slot, u.lane_id from tk.attachment_uses u where u.tenant_id = p_tenant and u.attachment_id = p_id;
end $f$;

create function tk.attachment_chunk(p_tenant uuid, p_id uuid, p_n int) returns table (bytes bytea)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query select c.bytes from tk.attachment_chunks c where c.tenant_id = p_tenant and c.attachment_id = p_id and c.n = p_n;
end $f$;

-- use_attachments: each of them is named by the event or message of this id, which exists; in the transaction that stored it
create function tk.use_attachments(p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_used_by uuid[], p_id uuid[])
returns void language plpgsql volatile security invoker as $f$
begin
  perform 1 from (select distinct t, a from unnest(p_tenant, p_id) q(t, a) order by t, a) q
    cross join lateral (select 1 from tk.attachments a where a.tenant_id = q.t and a.id = q.a for no key update) a;
  insert into tk.attachment_uses (slot, tenant_id, lane_id, attachment_id, used_by)
    select s, t, l, a, u from unnest(p_slot, p_tenant, p_lane, p_used_by, p_id) q(s, t, l, u, a) on conflict do nothing;
  update tk.attachments a set expires_at = null from unnest(p_tenant, p_id) q(t, i)
    where a.tenant_id = q.t and a.id = q.i and a.expires_at is not null;
end $f$;

-- accept_attached: accept (0010), of a batch in which messages name attachments: item p_use_item names p_use_id. Only what
-- was stored, now or by an earlier try, uses them.
create function tk.accept_attached(
  p_tenants text, p_node uuid, p_slot smallint[], p_tenant uuid[], p_agent uuid[], p_lane uuid[], p_key text[], p_cap int[],
  p_scope uuid[], p_dedupe text[], p_hash bytea[],
  p_event uuid[], p_kind smallint[], p_account uuid[], p_body jsonb[], p_traceparent text[], p_state smallint[], p_error jsonb[],
  p_use_item int[], p_use_id uuid[])
returns table (i int, result text, ahead int, ord bigint, event_id uuid, slot smallint, lane_id uuid)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_slot smallint[];
  v_tenant uuid[];
  v_lane uuid[];
  v_event uuid[];
  v_id uuid[];
begin
  return query select * from tk.accept(p_tenants, p_node, p_slot, p_tenant, p_agent, p_lane, p_key, p_cap, p_scope, p_dedupe, p_hash,
                                       p_event, p_kind, p_account, p_body, p_traceparent, p_state, p_error);
  select array_agg(e.slot), array_agg(e.tenant_id), array_agg(e.lane_id), array_agg(e.id), array_agg(u.id)
    into v_slot, v_tenant, v_lane, v_event, v_id
    from unnest(p_use_item, p_use_id) u(item, id)
    cross join lateral (select e.* from tk.events e where e.tenant_id = p_tenant[u.item] and e.id = p_event[u.item] limit 1) e;
  if v_id is not null then perform tk.use_attachments(v_slot, v_tenant, v_lane, v_event, v_id); end if;
end $f$;

-- outbound_attached: outbound (0085), of a message that names attachments
create function tk.outbound_attached(
  p_tenant uuid, p_slot smallint, p_lane uuid, p_session uuid, p_new uuid, p_message uuid, p_role text, p_body jsonb, p_account uuid,
  p_scope uuid, p_key text, p_hash bytea, p_cap int, p_use_id uuid[])
returns table (result text, message_id uuid, seq bigint, session_id uuid, at timestamptz, dstate smallint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_count int := cardinality(p_use_id);
begin
  return query select * from tk.outbound(p_tenant, p_slot, p_lane, p_session, p_new, p_message, p_role, p_body, p_account, p_scope, p_key, p_hash, p_cap);
  if exists (select 1 from tk.messages m where m.tenant_id = p_tenant and m.id = p_message) then
    perform tk.use_attachments(array_fill(p_slot, array[v_count]), array_fill(p_tenant, array[v_count]), array_fill(p_lane, array[v_count]),
                               array_fill(p_message, array[v_count]), p_use_id);
  end if;
end $f$;

-- A conversation that was deleted by its owner (control: erase, 0040) keeps its rows without what was said: its files are
-- missing from this moment on and deleted by the next sweep, but for those that another conversation names.
create function tk.erase_attachments() returns trigger language plpgsql volatile security invoker as $f$
declare
  v_ids uuid[];
begin
  with d as (
    delete from tk.attachment_uses u where u.slot = new.slot and u.tenant_id = new.tenant_id and u.lane_id = new.lane_id returning u.attachment_id)
  select array_agg(distinct d.attachment_id) into v_ids from d;
  update tk.attachments a set expires_at = now() - interval '1 hour'
    where a.tenant_id = new.tenant_id and a.id = any (v_ids)
      and not exists (select 1 from tk.attachment_uses o where o.tenant_id = a.tenant_id and o.attachment_id = a.id);
  return null;
end $f$;
create trigger erase_attachments after insert on tk.lane_marks for each row when (new.kind = 'session.erased') execute function tk.erase_attachments();

-- delete_attachments: beside delete_expired. Uses whose event or message retention has deleted go first; a file without one
-- expires then. What has expired is deleted ten minutes later, if no message has named it meanwhile: longer than any
-- transaction that found it whole.
create function tk.delete_attachments(p_days double precision, p_batch int)
returns table (name text, rows bigint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_rows bigint;
  v_tenant uuid[];
  v_id uuid[];
begin
  with k as (
    select u.ctid c from tk.attachment_uses u
    where u.at < now() - p_days * interval '1 day'
      and not exists (select 1 from tk.events e where e.tenant_id = u.tenant_id and e.id = u.used_by)
      and not exists (select 1 from tk.messages m where m.tenant_id = u.tenant_id and m.id = u.used_by)
    order by u.at limit p_batch),
  d as (delete from tk.attachment_uses u using k where u.ctid = k.c returning u.tenant_id, u.attachment_id)
  select count(*), array_agg(tenant_id), array_agg(attachment_id) into v_rows, v_tenant, v_id from d;
  update tk.attachments a set expires_at = now() from (select distinct t, i from unnest(v_tenant, v_id) q(t, i)) q
    where a.tenant_id = q.t and a.id = q.i and a.expires_at is null
      and not exists (select 1 from tk.attachment_uses o where o.tenant_id = a.tenant_id and o.attachment_id = a.id);
  return query select 'attachment_uses', v_rows;

  select array_agg(tenant_id), array_agg(id) into v_tenant, v_id from (
    select a.tenant_id, a.id from tk.attachments a where a.expires_at < now() - interval '10 minutes' order by a.expires_at limit p_batch
    for update skip locked) a;
  -- a statement of its own: a use that came before the lock is seen
  with u as (
    update tk.attachments a set expires_at = null from unnest(v_tenant, v_id) q(t, i)
    where a.tenant_id = q.t and a.id = q.i and exists (select 1 from tk.attachment_uses o where o.tenant_id = a.tenant_id and o.attachment_id = a.id)),
  d as (
    delete from tk.attachments a using unnest(v_tenant, v_id) q(t, i)
    where a.tenant_id = q.t and a.id = q.i and not exists (select 1 from tk.attachment_uses o where o.tenant_id = a.tenant_id and o.attachment_id = a.id)
    returning a.tenant_id, a.bytes),
  s as (select tenant_id, sum(bytes)::bigint bytes, count(*) n from d group by tenant_id),
  t as (update tk.attachment_totals t set bytes = t.bytes - s.bytes from s where t.tenant_id = s.tenant_id)
  select coalesce(sum(n), 0) into v_rows from s;
  return query select 'attachments', v_rows;
end $f$;

revoke all on function tk.begin_upload, tk.append_chunk, tk.drop_upload, tk.finish_upload, tk.attachments_of, tk.attachment_lanes, tk.attachment_chunk,
  tk.use_attachments, tk.accept_attached, tk.outbound_attached, tk.erase_attachments, tk.delete_attachments from public;
grant execute on function tk.begin_upload, tk.append_chunk, tk.drop_upload, tk.finish_upload, tk.attachments_of, tk.attachment_lanes, tk.attachment_chunk,
  tk.use_attachments, tk.accept_attached, tk.outbound_attached, tk.erase_attachments to tk_engine;
grant execute on function tk.delete_attachments to tk_sweep;
