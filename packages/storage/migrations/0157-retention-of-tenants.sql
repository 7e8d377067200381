-- How long transcripts stay is the tenant's: `limits.retentionDays`, where it says nothing the cluster's days.

-- kept_since: what is older than this may go; `before` bounds the ids of its time. Never sooner than the keys by which
-- repetitions are known: a repetition is answered with the run that it names.
create function tk.kept_since(p_limits jsonb, p_settled_days double precision, p_dedupe_days double precision)
returns table (before uuid, since timestamptz)
language sql stable security invoker as $f$
  select tk.id_before(d.days), now() - d.days * interval '1 day'
  from (select case when p_limits ->> 'retentionDays' is null then p_settled_days
    else greatest((p_limits ->> 'retentionDays')::double precision, p_dedupe_days + 1) end days) d
$f$;
revoke all on function tk.kept_since from public;
grant execute on function tk.kept_since to tk_sweep;

-- Sessions that ended, each tenant's oldest first: how long they stay is the tenant's
drop index tk.sessions_ended;
create index sessions_ended on tk.sessions (tenant_id, ended_at) where ended_at is not null;

-- Lanes by their id alone, as an operator names them: their slot is not to be told from it
create index lanes_id on tk.lanes (id);

-- delete_ended_sessions: as in 0088, by the days of the tenant. What a session held is gone by then.
drop function tk.delete_ended_sessions(double precision, int);
create function tk.delete_ended_sessions(p_settled_days double precision, p_dedupe_days double precision, p_batch int) returns bigint
language plpgsql volatile security invoker as $f$
declare
  v_rows bigint;
begin
  with k as (
    select s.c from tk.tenants t cross join lateral tk.kept_since(t.limits, p_settled_days, p_dedupe_days) k cross join lateral (
      select s.ctid c from tk.sessions s
      where s.tenant_id = t.id and s.ended_at is not null and s.ended_at < k.since - interval '1 day'
        -- row by row: a join would read all lanes
        and not coalesce((select z.session_id = s.id from tk.lanes z where z.slot = s.slot and z.tenant_id = s.tenant_id and z.id = s.lane_id limit 1), false)
      order by s.ended_at limit p_batch) s limit p_batch)
  delete from tk.sessions s using k where s.ctid = k.c;
  get diagnostics v_rows = row_count;
  return v_rows;
end $f$;
revoke all on function tk.delete_ended_sessions from public;
grant execute on function tk.delete_ended_sessions to tk_sweep;

-- delete_expired: as in 0120, but messages and events by the days of their tenant. Turns are no transcripts: the cluster's
-- days. A lane goes when it has been idle for the cluster's days and nothing of it is left.
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

  v_c := tk.idle_lanes(v_since, p_batch);
  -- a statement of its own: an accept, a turn or a delivery that came before the locks is seen
  return query select 'lanes', tk.delete_lanes(v_c, p_batch);
  return query select 'sessions', tk.delete_ended_sessions(p_settled_days, p_dedupe_days, p_batch);

  delete from tk.workers w where w.state in (2, 3) and w.ended_at < now() - interval '1 day' and w.swept_at >= w.ended_at + interval '30 seconds'
    and not exists (select 1 from tk.partitions p where p.owner = w.boot_id);
  get diagnostics v_rows = row_count;
  return query select 'workers', v_rows;
end $f$;
