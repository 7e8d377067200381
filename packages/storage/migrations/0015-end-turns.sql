-- end_turns: how a running turn ends without a reply of its own. The caller holds the lanes' locks and has tested its right
-- to end them; p_c are the lanes' tuple ids. fence + 1, the turn's row, its events to p_event_state: queued (0), resuming
-- (1) or an end. What p_resume_of names is owed one automatic resume. Part of hand_back, cancel and interrupt_lost.
create function tk.end_turns(
  p_c tid[], p_turn_state smallint[], p_event_state smallint[], p_error jsonb[],
  p_resume_of uuid[], p_pending text[], p_resumes smallint[], p_suspend boolean[])
returns table (i int, slot smallint, tenant_id uuid, lane_id uuid, turn_id uuid, fence bigint, seq bigint, session_id uuid, run_id uuid, account_id uuid, traceparent text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
  with q as materialized (
    select u.*, z.turn_id n
    from unnest(p_c, p_turn_state, p_event_state, p_error, p_resume_of, p_pending, p_resumes, p_suspend) with ordinality u(c, ts, es, er, ro, pe, re, su, o)
    cross join lateral (select z.turn_id from tk.lanes z where z.ctid = u.c and z.turn_id is not null limit 1) z),
  ln as (
    update tk.lanes z
    set fence = z.fence + 1, seq = z.seq + 1, turn_id = null, resume_of = q.ro, resume_pending = coalesce(q.pe, z.resume_pending), resumes = q.re, suspended = q.su
    from q where z.ctid = q.c and z.turn_id = q.n
    returning q.*, z.slot s, z.tenant_id t, z.id l, z.session_id, z.seq, z.fence, z.agent_id, z.boot_id, z.turn_ords, z.turn_seq, z.turn_started_at, z.turn_reason, z.turn_resume_of),
  own as materialized (
    select ln.*, x.*
    from ln cross join lateral (
      select array_agg(e.c order by w.ord) cs, array_agg(e.id order by w.ord) ids,
             (array_agg(e.account_id order by w.ord))[1] account_id, (array_agg(e.traceparent order by w.ord))[1] traceparent
      from unnest(ln.turn_ords) w(ord)
      cross join lateral (
        select e.ctid c, e.id, e.account_id, e.traceparent from tk.events e
        where e.slot = ln.s and e.tenant_id = ln.t and e.lane_id = ln.l and e.ord = w.ord and e.state < 10 limit 1) e) x),
  ev as (
    update tk.events e
    set state = x.es, attempts = e.attempts + 1, turn_id = x.n, error = x.er,
        session_id = case when x.es > 0 then x.session_id end,
        seq = case when x.es > 0 then coalesce(e.seq, x.turn_seq) end,
        started_at = case when x.es > 0 then x.turn_started_at end,
        end_seq = case when x.es >= 10 then x.seq end,
        settled_at = case when x.es >= 10 then v_now end
    from (select own.*, u.c event_c from own cross join lateral unnest(own.cs) u(c)) x
    where e.ctid = x.event_c and e.state + 0 < 2),
  tu as (
    insert into tk.turns (slot, tenant_id, lane_id, id, fence, boot_id, state, reason, resume_of, agent_id, session_id, ords, event_ids,
                          seq, end_seq, error, started_at, ended_at)
    select s, t, l, n, fence - 1, boot_id, ts, turn_reason, turn_resume_of, agent_id, session_id, turn_ords, ids, turn_seq, seq, er, turn_started_at, v_now from own)
  select o::int, s, t, l, n, fence, seq, session_id, ids[1], account_id, traceparent from own;
end $f$;

revoke all on function tk.end_turns from public;
grant execute on function tk.end_turns to tk_engine, tk_sweep;
