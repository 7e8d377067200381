-- What streams are built from, bounded: beside the functions of 0030, which nodes of the version before still call, the same
-- ones with a limit per lane. "with ties": what one transaction wrote is not torn, so that the caller's page ends at a seq.

-- ended_aside: as in 0030, at most p_limit a lane and what shares the seq of the last
create function tk.ended_aside(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[], p_limit int)
returns table (i int, id uuid, ord bigint, kind smallint, state smallint, turn_id uuid, session_id uuid, seq bigint, end_seq bigint, body jsonb,
               error jsonb, accepted_at timestamptz, settled_at timestamptz)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, e.id, e.ord, e.kind, e.state, e.turn_id, e.session_id, e.seq, e.end_seq, e.body, e.error, e.accepted_at, e.settled_at
    from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
    cross join lateral (
      select e.* from tk.events e
      where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.state >= 14 and e.end_seq > q.a and e.end_seq <= q.u
      order by e.end_seq fetch first p_limit rows with ties) e
    order by q.o, e.end_seq;
end $f$;

-- changed_messages: as in 0030, at most p_limit a lane and what shares the seq of the last
create function tk.changed_messages(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[], p_limit int)
returns table (i int, id uuid, seq bigint, n smallint, role text, session_id uuid, turn_id uuid, run_id uuid, body jsonb, at timestamptz)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, m.id, m.seq, m.n, m.role, m.session_id, m.turn_id, m.run_id, m.body, m.at
    from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
    cross join lateral (
      select m.* from tk.messages m
      where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq > q.a and m.seq <= q.u and m.role in ('assistant', 'notice')
      order by m.seq fetch first p_limit rows with ties) m
    order by q.o, m.seq, m.n;
end $f$;

-- changed_marks: as in 0030, at most p_limit a lane and what shares the seq of the last
create function tk.changed_marks(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[], p_limit int)
returns table (i int, seq bigint, kind text, session_id uuid, body jsonb, at timestamptz)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, k.seq, k.kind, k.session_id, k.body, k.at
    from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
    cross join lateral (
      select k.* from tk.lane_marks k
      where k.slot = q.s and k.tenant_id = q.t and k.lane_id = q.l and k.seq > q.a and k.seq <= q.u
      order by k.seq fetch first p_limit rows with ties) k
    order by q.o, k.seq, k.n;
end $f$;

-- run_in_stream: what concerns the run comes after `before` in its lane's stream, and is over at `ended`; `ended` is null
-- while it goes on, and for a run that was refused when it came: no transaction of its lane tells of that one.
create function tk.run_in_stream(p_tenant uuid, p_event uuid)
returns table (before bigint, ended bigint, final boolean, turn_id uuid) language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query
    select coalesce(e.seq - 1, case when r.runs then z.turn_seq - 1 end, e.end_seq - 1, z.seq), e.end_seq, e.state >= 10,
           case when r.runs then z.turn_id else e.turn_id end
    from tk.events e
    cross join lateral (select z.* from tk.lanes z where z.slot = e.slot and z.tenant_id = e.tenant_id and z.id = e.lane_id limit 1) z
    cross join lateral (select e.state < 10 and z.turn_id is not null and e.ord = any (z.turn_ords) runs) r
    where e.tenant_id = p_tenant and e.id = p_event limit 1;
end $f$;

-- end_turns: as in 0040, but an event that is handed back to the queue keeps the seq and the session of its claim: readers
-- were told of its message under that seq, and must not be told of it again under the next claim's.
create or replace function tk.end_turns(
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
    set fence = z.fence + 1, seq = z.seq + 1, turn_id = null, resume_of = q.ro, resume_pending = coalesce(q.pe, z.resume_pending), resumes = q.re,
        suspended = q.su or z.suspended
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
        session_id = x.session_id,
        seq = coalesce(e.seq, x.turn_seq),
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

revoke all on function tk.ended_aside(text, smallint[], uuid[], uuid[], bigint[], bigint[], int) from public;
revoke all on function tk.changed_messages(text, smallint[], uuid[], uuid[], bigint[], bigint[], int) from public;
revoke all on function tk.changed_marks(text, smallint[], uuid[], uuid[], bigint[], bigint[], int) from public;
revoke all on function tk.run_in_stream from public;
grant execute on function tk.ended_aside(text, smallint[], uuid[], uuid[], bigint[], bigint[], int) to tk_engine;
grant execute on function tk.changed_messages(text, smallint[], uuid[], uuid[], bigint[], bigint[], int) to tk_engine;
grant execute on function tk.changed_marks(text, smallint[], uuid[], uuid[], bigint[], bigint[], int) to tk_engine;
grant execute on function tk.run_in_stream to tk_engine;
