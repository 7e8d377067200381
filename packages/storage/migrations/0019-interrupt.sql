-- What only the leader does about lost processes. dead and gone are final, so whatever still runs or sends in such a name is lost.

-- A UUIDv7 of this moment, for rows that SQL makes: ids are in order of time, which retention relies on.
create function tk.new_id() returns uuid language sql volatile as $f$
  select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1), 'hex')::uuid
$f$;

-- Is a look for turns and sends of lost processes due? Until 30 s after an end (a claim that saw the process live may
-- commit until its statement time-out) at each call; after that once a minute, because a stopped backend has no time-out.
create function tk.lost_look_due() returns boolean language sql volatile security invoker as $f$
  select exists (
    select 1 from tk.workers w where w.state in (2, 3)
      and coalesce(w.swept_at, '-infinity') < greatest(w.ended_at + interval '30 seconds', clock_timestamp() - interval '60 seconds'))
$f$;

-- interrupt_lost: ends every running turn whose owner is not live or leaving, compare-and-set under its lane's lock, at most
-- p_limit. Its events wait for the one automatic resume; or, on the third strike in a row, they are refused with a notice
-- and the lane is suspended: its next event starts a fresh session. A killed process is a strike, one that left is none.
create function tk.interrupt_lost(p_limit int, p_notice jsonb, p_error jsonb)
returns table (slot smallint, tenant_id uuid, lane_id uuid, turn_id uuid, suspended boolean, lost_ms double precision)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_begin timestamptz := clock_timestamp();
  v_slot smallint[];
  v_tenant uuid[];
  v_lane uuid[];
  v_turn uuid[];
  v_strike boolean[];
  v_lost double precision[];
  v_c tid[];
  v_at bigint[];
  v_resumes smallint[];
  v_suspend boolean[];
begin
  if not tk.lost_look_due() then
    return;
  end if;
  with recursive w as (
    (select e.slot, e.tenant_id, e.lane_id from tk.events e where e.state < 10 order by e.slot, e.tenant_id, e.lane_id limit 1)
    union all
    select n.slot, n.tenant_id, n.lane_id from w cross join lateral (
      select e.slot, e.tenant_id, e.lane_id from tk.events e where e.state < 10
        and (e.slot, e.tenant_id, e.lane_id) > (w.slot, w.tenant_id, w.lane_id) order by e.slot, e.tenant_id, e.lane_id limit 1) n),
  lost as (
    select z.slot, z.tenant_id, z.id, z.turn_id, coalesce(o.state, 3) = 3 strike, coalesce(extract(epoch from v_begin - o.beat_at)::double precision * 1000, 0) ms
    from w cross join lateral (select z.* from tk.lanes z where z.slot = w.slot and z.tenant_id = w.tenant_id and z.id = w.lane_id limit 1) z
    left join tk.workers o on o.boot_id = z.boot_id
    where z.turn_id is not null and coalesce(o.state, 3) in (2, 3)
    order by z.slot, z.tenant_id, z.id limit p_limit)
  select array_agg(slot), array_agg(tenant_id), array_agg(id), array_agg(turn_id), array_agg(strike), array_agg(ms)
    into v_slot, v_tenant, v_lane, v_turn, v_strike, v_lost from lost;

  if v_slot is null then
    if not exists (select 1 from tk.messages m left join tk.workers o on o.boot_id = m.dboot
                   where m.dstate in (0, 1, 4) and m.dstate = 1 and coalesce(o.state, 3) in (2, 3)) then
      update tk.workers w set swept_at = v_begin where w.state in (2, 3);
    end if;
    return;
  end if;

  select array_agg(z.c), array_agg(q.o), array_agg((z.resumes + q.st::int)::smallint), array_agg(q.st and z.resumes + 1 >= 3)
    into v_c, v_at, v_resumes, v_suspend
    from (select * from unnest(v_slot, v_tenant, v_lane, v_turn, v_strike) with ordinality q(s, t, l, n, st, o) order by s, t, l) q
    cross join lateral (
      select z.ctid c, z.resumes from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.turn_id = q.n
      for no key update skip locked) z;      -- skipped: the next look

  return query
  with q as materialized (
    select u.c, u.re, u.su, u.a, v_turn[u.a] n from unnest(v_c, v_resumes, v_suspend, v_at) u(c, re, su, a)),
  arg as (
    select array_agg(c) c, array_agg(7::smallint) ts, array_agg((case when su then 20 else 1 end)::smallint) es,
           array_agg(case when su then p_error end) er, array_agg(case when not su then n end) ro, array_agg(case when not su then 'restart_interrupted' end) pe,
           array_agg(re) re, array_agg(su) su, array_agg(a) a
    from q having count(*) > 0),
  x as materialized (
    select x.*, arg.su[x.i] su, arg.a[x.i] a
    from arg cross join lateral tk.end_turns(arg.c, arg.ts, arg.es, arg.er, arg.ro, arg.pe, arg.re, arg.su) x),
  notices as (
    insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, run_id, fence, role, body, account_id, dstate, dattempt, dref, dat, traceparent)
    select x.slot, x.tenant_id, x.lane_id, x.seq, 0, tk.new_id(), x.session_id, x.turn_id, x.run_id, x.fence, 'notice', p_notice, x.account_id,
           case when x.account_id is null then 2 else 0 end, case when x.account_id is not null then 0 end,
           case when x.account_id is null then 'run' end, case when x.account_id is null then now() end, x.traceparent
    from x where x.su)
  select x.slot, x.tenant_id, x.lane_id, x.turn_id, x.su, v_lost[x.a] from x;
end $f$;

revoke all on function tk.new_id, tk.lost_look_due, tk.interrupt_lost from public;
grant execute on function tk.new_id, tk.lost_look_due, tk.interrupt_lost to tk_sweep;
