-- Turns of lost processes are decided on one by one: lost_turns tells what is known of each, the rules decide (core,
-- `decideInterrupted`), interrupt_turns writes the verdict by compare-and-set under the lane's lock. `interrupt_lost` stays
-- for coordinators of the version before.

alter table tk.events add column failures smallint not null default 0;   -- turns of it that crashed, and claims that the store refused
grant insert on tk.audit to tk_sweep;

-- lost_turns: running turns whose process is dead or gone, at most p_limit, with all that their fate hangs on: the last row
-- that they stored, how often lane and events have failed before, what their agent is allowed.
create function tk.lost_turns(p_limit int)
returns table (
  slot smallint, tenant_id uuid, lane_id uuid, turn_id uuid, crashed boolean, lost_ms double precision, age_ms double precision,
  suspended boolean, resume_pending text, resumes smallint, is_machine boolean, failures smallint,
  steps int, last_role text, last_text text, last_ms double precision, limits jsonb, resume jsonb)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_begin timestamptz := clock_timestamp();
begin
  if not tk.lost_look_due() then
    return;
  end if;
  return query
  with recursive w as (
    (select e.slot, e.tenant_id, e.lane_id from tk.events e where e.state < 10 order by e.slot, e.tenant_id, e.lane_id limit 1)
    union all
    select n.slot, n.tenant_id, n.lane_id from w cross join lateral (
      select e.slot, e.tenant_id, e.lane_id from tk.events e where e.state < 10
        and (e.slot, e.tenant_id, e.lane_id) > (w.slot, w.tenant_id, w.lane_id) order by e.slot, e.tenant_id, e.lane_id limit 1) n),
  lost as materialized (
    select z.*, coalesce(o.state, 3) = 3 crash, coalesce(extract(epoch from v_begin - o.beat_at)::double precision * 1000, 0) ms
    from w cross join lateral (select z.* from tk.lanes z where z.slot = w.slot and z.tenant_id = w.tenant_id and z.id = w.lane_id limit 1) z
    left join tk.workers o on o.boot_id = z.boot_id
    where z.turn_id is not null and coalesce(o.state, 3) in (2, 3)
    order by z.slot, z.tenant_id, z.id limit p_limit)
  select z.slot, z.tenant_id, z.id, z.turn_id, z.crash, z.ms, extract(epoch from v_begin - z.turn_started_at)::double precision * 1000,
         z.suspended, z.resume_pending, z.resumes, coalesce(ev.machine, false), coalesce(ev.failures, 0::smallint),
         coalesce(st.steps, 0)::int, last.role, left(last.body ->> 'text', 200), extract(epoch from last.at - z.turn_started_at)::double precision * 1000,
         a.config -> 'limits', a.config -> 'resume'
  from lost z
  left join lateral (
    select bool_and(e.kind = 2) machine, max(e.failures) failures from unnest(z.turn_ords) q(ord)
    cross join lateral (select e.kind, e.failures from tk.events e
      where e.slot = z.slot and e.tenant_id = z.tenant_id and e.lane_id = z.id and e.ord = q.ord and e.state < 10 limit 1) e) ev on true
  left join lateral (
    select count(*) steps from tk.messages m
    where m.slot = z.slot and m.tenant_id = z.tenant_id and m.lane_id = z.id and m.seq = z.turn_seq and m.turn_id = z.turn_id) st on true
  left join lateral (
    select m.role, m.body, m.at from tk.messages m
    where m.slot = z.slot and m.tenant_id = z.tenant_id and m.lane_id = z.id and m.seq = z.turn_seq and m.turn_id = z.turn_id
    order by m.n desc limit 1) last on true
  left join lateral (
    select v.config from tk.agents g
    cross join lateral (select v.config from tk.agent_versions v where v.tenant_id = g.tenant_id and v.agent_id = g.id and v.version = g.version limit 1) v
    where g.id = z.agent_id and g.tenant_id = z.tenant_id limit 1) a on true;
  if not found and not exists (
      select 1 from tk.messages m left join tk.workers o on o.boot_id = m.dboot
      where m.dstate in (0, 1, 4) and m.dstate = 1 and coalesce(o.state, 3) in (2, 3)) then
    update tk.workers w set swept_at = v_begin where w.state in (2, 3);
  end if;
end $f$;

-- interrupt_turns: writes what was decided, where the turn still runs and has stored no step since (p_steps), else the next
-- look decides anew. p_event_state: 0 queued again (a turn that went on from something is owed that again), 1 owed its one
-- resume, else an end. p_owe: the reply that is its last step becomes a delivery, marked recovered. p_notice: what the
-- conversation is told. p_audit: a lane or an event stopped itself. Answers the items written.
create function tk.interrupt_turns(
  p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_turn uuid[], p_steps int[], p_crashed boolean[], p_event_state smallint[], p_error jsonb[],
  p_pending text[], p_resumes smallint[], p_suspend boolean[], p_owe boolean[], p_notice jsonb[], p_audit text[])
returns table (i int) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid[];
  v_at bigint[];
  v_seq bigint[];
  v_started timestamptz[];
  v_event_state smallint[];
  v_resume_of uuid[];
begin
  select array_agg(z.c), array_agg(q.o) into v_c, v_at
    from (select * from unnest(p_slot, p_tenant, p_lane, p_turn) with ordinality q(s, t, l, n, o) order by s, t, l) q
    cross join lateral (
      select z.ctid c from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.turn_id = q.n
      for no key update skip locked) z;      -- skipped: the next look
  select array_agg(u.c), array_agg(u.a), array_agg(z.turn_seq), array_agg(z.turn_started_at),
         array_agg(case when p_event_state[u.a] = 0 and z.turn_reason in (1, 4) then 1::smallint else p_event_state[u.a] end),
         array_agg(case when p_event_state[u.a] = 1 then z.turn_id when p_event_state[u.a] = 0 and z.turn_reason in (1, 4) then z.turn_resume_of end)
    into v_c, v_at, v_seq, v_started, v_event_state, v_resume_of
    from unnest(v_c, v_at) u(c, a)
    cross join lateral (select z.* from tk.lanes z where z.ctid = u.c limit 1) z
    where (select count(*) from tk.messages m
           where m.slot = z.slot and m.tenant_id = z.tenant_id and m.lane_id = z.id and m.seq = z.turn_seq and m.turn_id = z.turn_id) = p_steps[u.a];
  if v_c is null then
    return;
  end if;
  update tk.events e set failures = e.failures + 1
    from unnest(v_c, v_at) u(c, a) cross join lateral (select z.* from tk.lanes z where z.ctid = u.c limit 1) z
    cross join lateral unnest(z.turn_ords) w(ord)
    where p_crashed[u.a] and e.slot = z.slot and e.tenant_id = z.tenant_id and e.lane_id = z.id and e.ord = w.ord and e.state < 10;

  return query
  with q as materialized (select u.* from unnest(v_c, v_at, v_event_state, v_resume_of, v_seq, v_started) with ordinality u(c, a, es, ro, sq, st, o)),
  arg as (
    select array_agg(c order by o) c, array_agg(7::smallint order by o) ts, array_agg(es order by o) es, array_agg(p_error[a] order by o) er, array_agg(ro order by o) ro,
           array_agg(p_pending[a] order by o) pe, array_agg(p_resumes[a] order by o) re, array_agg(p_suspend[a] order by o) su from q),
  x as materialized (
    select x.*, q.a, q.sq, q.st
    from arg cross join lateral tk.end_turns(arg.c, arg.ts, arg.es, arg.er, arg.ro, arg.pe, arg.re, arg.su) x join q on q.o = x.i),
  owed as (
    update tk.messages m
    set seq = x.seq, n = 0, run_id = x.run_id, account_id = x.account_id, started_at = x.st, traceparent = x.traceparent,
        dstate = case when x.account_id is null then 2 else 0 end, dattempt = case when x.account_id is not null then 0 end, drecovered = x.account_id is not null,
        dref = case when x.account_id is null then 'run' end, dat = case when x.account_id is null then now() end
    from x
    where p_owe[x.a] and m.slot = x.slot and m.tenant_id = x.tenant_id and m.lane_id = x.lane_id and m.seq = x.sq and m.turn_id = x.turn_id and m.role = 'assistant'
      and m.n = (select max(y.n) from tk.messages y
                 where y.slot = x.slot and y.tenant_id = x.tenant_id and y.lane_id = x.lane_id and y.seq = x.sq and y.turn_id = x.turn_id)),
  notices as (
    insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, run_id, fence, role, body, account_id, dstate, dattempt, dref, dat, traceparent)
    select x.slot, x.tenant_id, x.lane_id, x.seq, 1, tk.new_id(), x.session_id, x.turn_id, x.run_id, x.fence, 'notice', p_notice[x.a], x.account_id,
           case when x.account_id is null then 2 else 0 end, case when x.account_id is not null then 0 end,
           case when x.account_id is null then 'run' end, case when x.account_id is null then now() end, x.traceparent
    from x where p_notice[x.a] is not null),
  audits as (
    insert into tk.audit (tenant_id, id, actor, action, subject, detail)
    select x.tenant_id, tk.new_id(), 'coordinator', p_audit[x.a], 'lane:' || x.lane_id,
           jsonb_build_object('turnId', x.turn_id, 'runId', x.run_id, 'sessionId', x.session_id, 'resumes', p_resumes[x.a])
    from x where p_audit[x.a] is not null)
  select x.a::int from x;
end $f$;

revoke all on function tk.lost_turns, tk.interrupt_turns from public;
grant execute on function tk.lost_turns, tk.interrupt_turns to tk_sweep;
