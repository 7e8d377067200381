-- A person whose message the agent answers with a silence marker is told that there is no answer.

-- commit: as in 0014, but what has a code is a notice: the system says it, not the agent.
create or replace function tk.commit(
  p_tenants text, p_boot uuid, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_fence bigint[], p_turn uuid[],
  p_event_state smallint[], p_turn_state smallint[], p_error jsonb[], p_usage jsonb[], p_version int[],
  p_msg uuid[], p_body jsonb[], p_owed smallint[], p_account uuid[])
returns table (i int, result text, seq bigint, more boolean, finished_at timestamptz, dstate smallint)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid[];
  v_now timestamptz;
begin
  perform set_config('tk.tenants', p_tenants, true);
  select array_agg(z.c order by q.o) into v_c
    from (select * from unnest(p_slot, p_tenant, p_lane, p_fence, p_turn) with ordinality q(s, t, l, f, n, o) order by s, t, l) q
    left join lateral (
      select z.ctid c from tk.lanes z
      where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.fence = q.f and z.turn_id = q.n for no key update) z on true;
  v_now := clock_timestamp();
  return query
  with q as materialized (
    select * from unnest(p_slot, p_tenant, p_lane, p_fence, p_turn, p_event_state, p_turn_state, p_error, p_usage, p_version, p_msg, p_body, p_owed, p_account, v_c)
      with ordinality q(s, t, l, f, n, es, ts, er, us, av, m, b, ow, ac, c, o)),
  ln as (
    update tk.lanes z
    set turn_id = null, seq = z.seq + 1,
        resumes = case when q.ts in (1, 2) then 0 else z.resumes end, resume_pending = case when q.ts in (1, 2) then null else z.resume_pending end
    from q where z.ctid = q.c and z.fence = q.f and z.turn_id = q.n
    returning q.*, z.session_id, z.seq, z.agent_id, z.boot_id, z.turn_ords, z.turn_seq, z.turn_started_at, z.turn_reason, z.turn_resume_of),
  own as materialized (
    select ln.*, x.*, (case ln.ow when 1 then case when before.owed then 0 else 1 end else ln.ow end)::smallint ds
    from ln
    cross join lateral (
      select array_agg(e.c order by w.ord) cs, array_agg(e.id order by w.ord) ids, (array_agg(e.traceparent order by w.ord))[1] traceparent
      from unnest(ln.turn_ords) w(ord)
      cross join lateral (
        select e.ctid c, e.id, e.traceparent from tk.events e
        where e.slot = ln.s and e.tenant_id = ln.t and e.lane_id = ln.l and e.ord = w.ord and e.state < 10 limit 1) e) x
    left join lateral (
      select true owed from tk.messages y
      where y.slot = ln.s and y.tenant_id = ln.t and y.lane_id = ln.l and y.dstate in (0, 1, 4) and not (y.dstate = 4 and y.drecovered) limit 1) before on ln.ow = 1),
  ev as (
    update tk.events e
    set state = x.es, attempts = e.attempts + 1, turn_id = x.n, session_id = x.session_id, seq = coalesce(e.seq, x.turn_seq), end_seq = x.seq,
        error = x.er, started_at = x.turn_started_at, settled_at = v_now
    from (select own.*, u.c event_c from own cross join lateral unnest(own.cs) u(c)) x
    where e.ctid = x.event_c and e.state + 0 < 2),      -- "+ 0": not through the index on open events
  tu as (
    insert into tk.turns (slot, tenant_id, lane_id, id, fence, boot_id, state, reason, resume_of, agent_id, agent_version, session_id, ords, event_ids,
                          seq, end_seq, error, usage, started_at, ended_at)
    select s, t, l, n, f, boot_id, ts, turn_reason, turn_resume_of, agent_id, av, session_id, turn_ords, ids, turn_seq, seq, er, us, turn_started_at, v_now from own),
  ms as (
    insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, run_id, fence, role, body, started_at, at, account_id,
                             dstate, dboot, dattempt, dref, dat, traceparent)
    select s, t, l, seq, 0, m, session_id, n, ids[1], f, case when b ? 'code' then 'notice' else 'assistant' end, b, turn_started_at, v_now, ac,
           ds, case ds when 1 then p_boot end, case ds when 0 then 0 when 1 then 1 end, case ds when 2 then 'run' end, case ds when 2 then v_now end, traceparent
    from own where b is not null)
  select o::int, 'ok', seq,
         exists (select 1 from tk.events y where y.slot = own.s and y.tenant_id = own.t and y.lane_id = own.l and y.state < 10 and y.state = 0 and y.ord <> all (own.turn_ords)),
         v_now, case when b is not null then ds end
  from own
  union all
  select q.o::int, case when t.id is null then 'stale' else 'again' end, t.end_seq,
         coalesce((select true from tk.events y where y.slot = q.s and y.tenant_id = q.t and y.lane_id = q.l and y.state < 10 and y.state = 0 limit 1), false),
         t.ended_at,
         case when m.dstate = 1 and (m.dboot <> p_boot or m.dattempt <> 1) then 0::smallint else m.dstate end
  from q
  left join lateral (select t.* from tk.turns t where t.id = q.n and t.state = q.ts limit 1) t on true
  left join lateral (
    select m.dstate, m.dboot, m.dattempt from tk.messages m
    where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq = t.end_seq and m.n = 0 limit 1) m on true
  where q.c is null;
  -- a process that was declared dead ends with its metrics: what it was refused is kept for the leader to count
  if array_position(v_c, null) is not null then
    update tk.workers w set stale_commits = w.stale_commits + cardinality(array_positions(v_c, null)) where w.boot_id = p_boot and w.state = 3;
  end if;
end $f$;
