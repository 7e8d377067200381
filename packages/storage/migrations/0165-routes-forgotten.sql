-- How long a conversation keeps its place is the tenant's: `limits.laneDays` and `limits.lanes`. A lane that is forgotten
-- names no session any more, the next message begins one of its own; what was said stays for as long as transcripts do, and
-- the row goes when nothing of the lane is left. Which lanes go is core's to say (`prunesLane`, `overCap`): what follows gives
-- it the facts, and forgets those that are still as they were. Suspended and paused lanes stay.

-- lane_works: is anything running, waiting or owed in the lane?
create function tk.lane_works(p_lane tk.lanes) returns boolean language sql stable security invoker as $f$
  select p_lane.turn_id is not null or p_lane.resume_of is not null or p_lane.waits_for is not null or p_lane.paused
    or p_lane.erase_ord is not null or p_lane.erase_seq is not null
    or exists (select 1 from tk.events e where e.slot = p_lane.slot and e.tenant_id = p_lane.tenant_id and e.lane_id = p_lane.id and e.state < 10)
    or exists (select 1 from tk.messages m where m.slot = p_lane.slot and m.tenant_id = p_lane.tenant_id and m.lane_id = p_lane.id
               and m.dstate in (0, 1, 4) and not (m.dstate = 4 and m.drecovered))
$f$;

-- lane_holds: is anything left of what happened in the lane?
create function tk.lane_holds(p_lane tk.lanes) returns boolean language sql stable security invoker as $f$
  select exists (select 1 from tk.events e where e.slot = p_lane.slot and e.tenant_id = p_lane.tenant_id and e.lane_id = p_lane.id)
    or exists (select 1 from tk.messages m where m.slot = p_lane.slot and m.tenant_id = p_lane.tenant_id and m.lane_id = p_lane.id)
    or exists (select 1 from tk.turns t where t.slot = p_lane.slot and t.tenant_id = p_lane.tenant_id and t.lane_id = p_lane.id)
$f$;

-- aged_lanes: of some slots, taken at random because no index is worth keeping for them: lanes that are older than their
-- tenant's days and still name a session, or hold nothing any more.
create function tk.aged_lanes(p_slots int, p_default_days double precision, p_limit int)
returns table (slot smallint, tenant_id uuid, lane_id uuid, max_age_days double precision, idle_days double precision, suspended boolean, works boolean, seen text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query
    select (x.z).slot, (x.z).tenant_id, (x.z).id, x.days, (extract(epoch from now() - (x.z).last_activity_at) / 86400)::double precision,
           (x.z).suspended, tk.lane_works(x.z), (x.z).last_activity_at::text
    from (select n.slot from tk.slots n order by random() limit p_slots) n
    cross join lateral (
      select z, d.days from tk.lanes z
      join tk.tenants t on t.id = z.tenant_id
      cross join lateral (select coalesce((t.limits ->> 'laneDays')::double precision, p_default_days) days) d
      where z.slot = n.slot and d.days > 0 and z.last_activity_at < now() - d.days * interval '1 day'
        and not z.suspended and not z.paused and z.turn_id is null
        and (z.session_id is not null or not tk.lane_holds(z)) limit p_limit) x
    limit p_limit;
end $f$;

-- crowded_tenants: those with more lanes that name a session than they may have, at most p_limit too many each, and their
-- oldest ones. Counting ends where it is enough.
create function tk.crowded_tenants(p_limit int)
returns table (tenant_id uuid, lanes_max int, lanes int, slot smallint, lane_id uuid, updated_at timestamptz, works boolean, seen text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query
    select t.id, m.lanes, n.lanes, (x.z).slot, (x.z).id, (x.z).last_activity_at, tk.lane_works(x.z), (x.z).last_activity_at::text
    from tk.tenants t
    cross join lateral (select (t.limits ->> 'lanes')::int lanes) m
    cross join lateral (
      select count(*)::int lanes from (
        select from tk.lanes z where z.tenant_id = t.id and z.session_id is not null limit m.lanes + p_limit) z) n
    cross join lateral (
      select z from tk.lanes z
      where n.lanes > m.lanes and z.tenant_id = t.id and z.session_id is not null and not z.suspended and not z.paused and z.turn_id is null
      order by z.last_activity_at limit p_limit) x
    where m.lanes is not null;
end $f$;

-- forget_lanes: those that are as they were seen and have nothing to do, under their locks; how many. A lane whose lock
-- somebody else has is doing something. The row goes at once where nothing is left.
create function tk.forget_lanes(p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_seen text[]) returns bigint
language plpgsql volatile security invoker as $f$
declare
  v_c tid[];
  v_deleted bigint;
  v_cut bigint;
begin
  select array_agg(z.c) into v_c
    from (select * from unnest(p_slot, p_tenant, p_lane, p_seen) q(s, t, l, seen) order by s, t, l) q
    cross join lateral (
      select z.ctid c from tk.lanes z
      where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.last_activity_at::text = q.seen and not z.suspended
      for update skip locked) z;
  -- a statement of its own: an accept, a turn or a delivery that came before the locks is seen
  select array_agg(q.c) into v_c from unnest(v_c) q(c) join tk.lanes z on z.ctid = q.c where not tk.lane_works(z);
  if v_c is null then return 0; end if;
  v_deleted := tk.delete_lanes(v_c, cardinality(v_c));
  with q as materialized (
    select q.c, z.session_id x, z.session_state st from unnest(v_c) q(c) join tk.lanes z on z.ctid = q.c where z.session_id is not null),
  ln as (
    update tk.lanes z set session_id = null, session_state = 0, resumes = 0, resume_pending = null, resume_marked_at = null, seq = z.seq + 1
    from q where z.ctid = q.c
    returning z.slot, z.tenant_id, z.id, z.seq, q.x, q.st),
  ses as (
    update tk.sessions s set status = 'archived', ended_at = coalesce(s.ended_at, now()), end_reason = coalesce(s.end_reason, 'forgotten')
    from ln where s.slot = ln.slot and s.tenant_id = ln.tenant_id and s.id = ln.x),
  mk as (
    insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
    select slot, tenant_id, id, seq, 'session.archived', x, '{"reason": "forgotten"}' from ln where st <> 2)
  select count(*) into v_cut from ln;
  return v_deleted + v_cut;
end $f$;

revoke all on function tk.lane_works, tk.lane_holds, tk.aged_lanes, tk.crowded_tenants, tk.forget_lanes from public;
grant execute on function tk.lane_works, tk.lane_holds, tk.aged_lanes, tk.crowded_tenants, tk.forget_lanes to tk_sweep;

-- delete_expired: as in 0157, without lanes, which have their own days now.
create or replace function tk.delete_expired(p_settled_days double precision, p_dedupe_days double precision, p_batch int)
returns table (name text, rows bigint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_before uuid := tk.id_before(p_settled_days);
  v_since timestamptz := now() - p_settled_days * interval '1 day';
  v_rows bigint;
begin
  with k as (select d.ctid c from tk.dedupe_keys d where d.at < now() - p_dedupe_days * interval '1 day' order by d.at limit p_batch)
  delete from tk.dedupe_keys d using k where d.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'dedupe_keys', v_rows;

  with k as (
    select m.c from tk.tenants t cross join lateral tk.kept_since(t.limits, p_settled_days, p_dedupe_days) k cross join lateral (
      select m.ctid c from tk.messages m
      where m.tenant_id = t.id and m.id < k.before and m.at < k.since
        and (m.dstate is null or m.dstate in (2, 3, 5, 6) or m.dstate = 4 and m.drecovered)
      order by m.id limit p_batch for update skip locked) m limit p_batch)
  delete from tk.messages m using k where m.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'messages', v_rows;

  with k as (select t.ctid c from tk.turns t where t.id < v_before and t.ended_at < v_since order by t.id limit p_batch)
  delete from tk.turns t using k where t.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'turns', v_rows;

  with k as (
    select e.c from tk.tenants t cross join lateral tk.kept_since(t.limits, p_settled_days, p_dedupe_days) k cross join lateral (
      select e.ctid c from tk.events e
      where e.tenant_id = t.id and e.id < k.before and e.state >= 10 and e.settled_at < k.since
      order by e.id limit p_batch for update skip locked) e limit p_batch)
  delete from tk.events e using k where e.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'events', v_rows;

  return query select 'sessions', tk.delete_ended_sessions(p_settled_days, p_dedupe_days, p_batch);

  delete from tk.workers w where w.state in (2, 3) and w.ended_at < now() - interval '1 day' and w.swept_at >= w.ended_at + interval '30 seconds'
    and not exists (select 1 from tk.partitions p where p.owner = w.boot_id);
  get diagnostics v_rows = row_count;
  return query select 'workers', v_rows;
end $f$;
drop function tk.idle_lanes(timestamptz, int);
