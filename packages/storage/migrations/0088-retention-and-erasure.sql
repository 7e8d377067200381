-- What retention and the deletion of tenants left behind, or looked for without an index.

-- delete_tenant_step: as in 0051, but the rows of tables that lead with the slot are found slot by slot, through the index
-- that every one of them has, and not by a scan of what all tenants have.
create or replace function tk.delete_tenant_step(p_batch int, p_wait_ms double precision)
returns table (tenant_id uuid, table_name text, deleted bigint) language plpgsql volatile security invoker as $f$
declare
  v_last constant text[] := array['lanes', 'account_versions', 'accounts', 'agent_versions', 'agents', 'apps', 'api_keys'];
  v_by_slot constant text := 'select x.c from tk.slots s cross join lateral (select y.ctid c from tk.%1$I y where y.slot = s.slot and y.tenant_id = $1 limit $2) x limit $2';
  v_by_tenant constant text := 'select y.ctid c from tk.%1$I y where y.tenant_id = $1 limit $2';
  v_tenant uuid;
  v_table text;
  v_slotted boolean;
  v_rows bigint;
begin
  select d.id into v_tenant from tk.deletions d
    where d.finished_at is null and d.requested_at < clock_timestamp() - p_wait_ms * interval '1 millisecond'
      and not exists (
        select 1 from tk.slots s cross join lateral (
          select 1 from tk.lanes z where z.slot = s.slot and z.tenant_id = d.id and z.turn_id is not null limit 1) running)
    order by d.requested_at limit 1 for update skip locked;
  if v_tenant is null then return; end if;
  for v_table, v_slotted in
    select c.relname, exists (
      select 1 from pg_index i
      join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0] and a.attname = 'slot'
      join pg_attribute b on b.attrelid = c.oid and b.attnum = i.indkey[1] and b.attname = 'tenant_id'
      where i.indrelid = c.oid and i.indpred is null)
    from pg_class c join pg_namespace s on s.oid = c.relnamespace
    where s.nspname = 'tk' and c.relkind = 'r'
      and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)
    order by coalesce(array_position(v_last, c.relname::text), 0), c.relname = 'sessions', c.relname
  loop
    execute format('with k as (' || case when v_slotted then v_by_slot else v_by_tenant end || ') delete from tk.%1$I t using k where t.ctid = k.c', v_table)
      using v_tenant, p_batch;
    get diagnostics v_rows = row_count;
    if v_rows > 0 then
      update tk.deletions d set rows = d.rows || jsonb_build_object(v_table, coalesce((d.rows ->> v_table)::bigint, 0) + v_rows) where d.id = v_tenant;
      return query select v_tenant, v_table, v_rows;
      return;
    end if;
  end loop;
  delete from tk.tenants t where t.id = v_tenant;
  update tk.deletions d set finished_at = clock_timestamp(), rows = d.rows || '{"tenants": 1}' where d.id = v_tenant;
  return query select v_tenant, 'tenants', 1::bigint;
end $f$;

-- idle_lanes: lanes of some slots that have been idle since then, locked. A suspended one goes, too: whoever writes again
-- begins a fresh session either way. A paused one stays: its person has taken over.
create function tk.idle_lanes(p_since timestamptz, p_batch int) returns tid[]
language plpgsql volatile security invoker as $f$
declare
  v_c tid[];
begin
  -- some slots each time, because no index is worth finding idle lanes at once
  select array_agg(z.c) into v_c
    from (select s.slot from tk.slots s order by random() limit 256) s
    cross join lateral (
      select z.ctid c from tk.lanes z
      where z.slot = s.slot and z.last_activity_at < p_since and z.turn_id is null and z.resume_of is null and z.waits_for is null
        and not z.paused and z.erase_ord is null and z.erase_seq is null limit p_batch for update skip locked) z;
  return v_c;
end $f$;

-- delete_lanes: those of these lanes, under their locks, that hold nothing any more, with their sessions, marks and
-- questions: a lane that comes back under the same key begins at seq 1, where old marks would stand in its way
create function tk.delete_lanes(p_c tid[], p_batch int) returns bigint
language plpgsql volatile security invoker as $f$
declare
  v_rows bigint;
begin
  with k as materialized (
    select z.ctid c, z.slot, z.tenant_id, z.id from unnest(p_c) q(c) join tk.lanes z on z.ctid = q.c
    where not exists (select 1 from tk.events e where e.slot = z.slot and e.tenant_id = z.tenant_id and e.lane_id = z.id)
      and not exists (select 1 from tk.messages m where m.slot = z.slot and m.tenant_id = z.tenant_id and m.lane_id = z.id)
      and not exists (select 1 from tk.turns t where t.slot = z.slot and t.tenant_id = z.tenant_id and t.lane_id = z.id)
    limit p_batch),
  s as (delete from tk.sessions s using k where s.slot = k.slot and s.tenant_id = k.tenant_id and s.lane_id = k.id),
  m as (delete from tk.lane_marks m using k where m.slot = k.slot and m.tenant_id = k.tenant_id and m.lane_id = k.id),
  i as (delete from tk.inputs i using k where i.slot = k.slot and i.tenant_id = k.tenant_id and i.lane_id = k.id)
  delete from tk.lanes z using k where z.ctid = k.c;
  get diagnostics v_rows = row_count;
  return v_rows;
end $f$;

-- Sessions that ended, oldest first
create index sessions_ended on tk.sessions (ended_at) where ended_at is not null;

-- delete_ended_sessions: sessions that ended so long ago that nothing they held is left, of lanes that live on with another
-- one. A day later than their rows, so that a reader finds a session empty before it finds none.
create function tk.delete_ended_sessions(p_days double precision, p_batch int) returns bigint
language plpgsql volatile security invoker as $f$
declare
  v_rows bigint;
begin
  with k as (
    select s.ctid c from tk.sessions s
    where s.ended_at is not null and s.ended_at < now() - (p_days + 1) * interval '1 day'
      and not exists (select 1 from tk.lanes z where z.slot = s.slot and z.tenant_id = s.tenant_id and z.id = s.lane_id and z.session_id = s.id)
    order by s.ended_at limit p_batch)
  delete from tk.sessions s using k where s.ctid = k.c;
  get diagnostics v_rows = row_count;
  return v_rows;
end $f$;

-- delete_expired: rows past retention, at most p_batch of each table; as in 0022, but for lanes and sessions. Ids are in order
-- of time, so their indexes find the oldest rows; what is unfinished or still owed stays however old it is. A lane goes
-- under its lock: else its fence would start again at 1 under a turn that still exists.
create or replace function tk.delete_expired(p_settled_days double precision, p_dedupe_days double precision, p_batch int)
returns table (name text, rows bigint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_before uuid := tk.id_before(p_settled_days);
  v_since timestamptz := now() - p_settled_days * interval '1 day';
  v_rows bigint;
  v_c tid[];
begin
  with k as (select d.ctid c from tk.dedupe_keys d where d.at < now() - p_dedupe_days * interval '1 day' order by d.at limit p_batch)
  delete from tk.dedupe_keys d using k where d.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'dedupe_keys', v_rows;

  with k as (
    select m.ctid c from tk.messages m where m.id < v_before and m.at < v_since and (m.dstate is null or m.dstate in (2, 3, 5, 6) or m.dstate = 4 and m.drecovered)
    order by m.id limit p_batch for update skip locked)
  delete from tk.messages m using k where m.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'messages', v_rows;

  with k as (select t.ctid c from tk.turns t where t.id < v_before and t.ended_at < v_since order by t.id limit p_batch)
  delete from tk.turns t using k where t.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'turns', v_rows;

  with k as (
    select e.ctid c from tk.events e where e.id < v_before and e.state >= 10 and e.settled_at < v_since order by e.id limit p_batch for update skip locked)
  delete from tk.events e using k where e.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'events', v_rows;

  v_c := tk.idle_lanes(v_since, p_batch);
  -- a statement of its own: an accept, a turn or a delivery that came before the locks is seen
  return query select 'lanes', tk.delete_lanes(v_c, p_batch);
  return query select 'sessions', tk.delete_ended_sessions(p_settled_days, p_batch);

  delete from tk.workers w where w.state in (2, 3) and w.ended_at < now() - interval '1 day' and w.swept_at >= w.ended_at + interval '30 seconds'
    and not exists (select 1 from tk.partitions p where p.owner = w.boot_id);
  get diagnostics v_rows = row_count;
  return query select 'workers', v_rows;
end $f$;

revoke all on function tk.idle_lanes, tk.delete_lanes, tk.delete_ended_sessions from public;
grant execute on function tk.idle_lanes, tk.delete_lanes, tk.delete_ended_sessions to tk_sweep;
