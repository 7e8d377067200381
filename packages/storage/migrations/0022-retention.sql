-- delete_expired: rows past retention, at most p_batch of each table. Ids are in order of time, so their indexes find the
-- oldest rows; what is unfinished or still owed stays however old it is. A lane goes under its lock, when it has been idle
-- for as long and nothing of it is left: else its fence would start again at 1 under a turn that still exists.
create function tk.id_before(p_days double precision) returns uuid language sql stable as $f$
  select (lpad(to_hex((extract(epoch from now() - p_days * interval '1 day') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$f$;

create function tk.delete_expired(p_settled_days double precision, p_dedupe_days double precision, p_batch int)
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
    select m.ctid c from tk.messages m where m.id < v_before and m.at < v_since and (m.dstate is null or m.dstate in (2, 3, 5) or m.dstate = 4 and m.drecovered)
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

  -- the lanes of some slots each time, because no index is worth finding idle ones at once
  select array_agg(z.c) into v_c
    from (select s.slot from tk.slots s order by random() limit 256) s
    cross join lateral (
      select z.ctid c from tk.lanes z
      where z.slot = s.slot and z.last_activity_at < v_since and z.turn_id is null and z.resume_of is null and z.waits_for is null
        and not z.paused and not z.suspended limit p_batch for update skip locked) z;
  -- a statement of its own: an accept, a turn or a delivery that came before the lock is seen
  with k as materialized (
    select z.ctid c, z.slot, z.tenant_id, z.id from unnest(v_c) q(c) join tk.lanes z on z.ctid = q.c
    where not exists (select 1 from tk.events e where e.slot = z.slot and e.tenant_id = z.tenant_id and e.lane_id = z.id)
      and not exists (select 1 from tk.messages m where m.slot = z.slot and m.tenant_id = z.tenant_id and m.lane_id = z.id)
      and not exists (select 1 from tk.turns t where t.slot = z.slot and t.tenant_id = z.tenant_id and t.lane_id = z.id)
    limit p_batch),
  s as (delete from tk.sessions s using k where s.slot = k.slot and s.tenant_id = k.tenant_id and s.lane_id = k.id)
  delete from tk.lanes z using k where z.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'lanes', v_rows;

  delete from tk.workers w where w.state in (2, 3) and w.ended_at < now() - interval '1 day' and w.swept_at >= w.ended_at + interval '30 seconds'
    and not exists (select 1 from tk.partitions p where p.owner = w.boot_id);
  get diagnostics v_rows = row_count;
  return query select 'workers', v_rows;
end $f$;

revoke all on function tk.id_before, tk.delete_expired from public;
grant execute on function tk.id_before, tk.delete_expired to tk_sweep;
