-- The lifecycle of sessions: active → expired → archived by age, decided by core; and revival in the accepting transaction.

-- idle_sessions: sessions of some slots, taken at random because no index is worth keeping for them, in which nobody has
-- spoken for so long. What is still to be done or owed in a lane keeps its session as it is.
create function tk.idle_sessions(p_slots int, p_expiry_hours double precision, p_archive_hours double precision, p_limit int)
returns table (slot smallint, tenant_id uuid, lane_id uuid, session_id uuid, status text, last_activity_at timestamptz, seen text, now timestamptz)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query
    select z.slot, z.tenant_id, z.id, z.session_id, s.status, z.last_activity_at, z.last_activity_at::text, now()
    from (select n.slot from tk.slots n order by random() limit p_slots) n
    cross join lateral (
      select z.* from tk.lanes z
      where z.slot = n.slot and z.session_id is not null and z.session_state < 2
        and z.last_activity_at < now() - case z.session_state when 0 then p_expiry_hours else p_archive_hours end * interval '1 hour'
        and z.turn_id is null and z.resume_of is null and z.waits_for is null and z.resume_pending is null limit p_limit) z
    cross join lateral (
      select s.status from tk.sessions s where s.slot = z.slot and s.tenant_id = z.tenant_id and s.id = z.session_id and s.ended_at is null limit 1) s
    where not exists (select 1 from tk.events e where e.slot = z.slot and e.tenant_id = z.tenant_id and e.lane_id = z.id and e.state < 10)
    limit p_limit;
end $f$;

-- age_sessions: does what was decided, where the lane is as it was then and still has nothing to do. Skipped: the next sweep.
-- Ageing is nobody's activity. One row per session that changed.
create function tk.age_sessions(p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_session uuid[], p_seen text[], p_status text[])
returns table (slot smallint, tenant_id uuid, lane_id uuid, status text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid[];
  v_o bigint[];
begin
  select array_agg(z.c), array_agg(q.o) into v_c, v_o
    from (select * from unnest(p_slot, p_tenant, p_lane) with ordinality q(s, t, l, o) order by s, t, l) q
    cross join lateral (
      select z.ctid c from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l for no key update skip locked) z;
  -- a statement of its own: a message that came before the lock is seen
  return query
  with q as materialized (select u.c, p_session[u.o] x, p_seen[u.o] seen, p_status[u.o] st from unnest(v_c, v_o) u(c, o)),
  ln as (
    update tk.lanes z set seq = z.seq + 1, session_state = case q.st when 'expired' then 1 else 2 end
    from q
    where z.ctid = q.c and z.session_id = q.x and z.last_activity_at::text = q.seen and z.session_state = case q.st when 'expired' then 0 else 1 end
      and z.turn_id is null and z.resume_of is null and z.waits_for is null and z.resume_pending is null
      and not exists (select 1 from tk.events e where e.slot = z.slot and e.tenant_id = z.tenant_id and e.lane_id = z.id and e.state < 10)
    returning z.slot, z.tenant_id, z.id, z.session_id, z.seq, q.st),
  ses as (
    update tk.sessions s set status = ln.st from ln where s.slot = ln.slot and s.tenant_id = ln.tenant_id and s.id = ln.session_id),
  mk as (
    insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
    select slot, tenant_id, id, seq, 'session.' || st, session_id, '{"reason": "idle"}' from ln)
  select slot, tenant_id, id, st from ln;
end $f$;

revoke all on function tk.idle_sessions, tk.age_sessions from public;
grant execute on function tk.idle_sessions, tk.age_sessions to tk_sweep;

-- accept: as in 0010, and what a person says in an expired session revives it in this very transaction.
-- Locks: rows of lanes near their cap and of those to be revived (sorted) → dedupe keys (sorted) → new lanes (sorted).
create or replace function tk.accept(
  p_tenants text, p_node uuid, p_slot smallint[], p_tenant uuid[], p_agent uuid[], p_lane uuid[], p_key text[], p_cap int[],
  p_scope uuid[], p_dedupe text[], p_hash bytea[],
  p_event uuid[], p_kind smallint[], p_account uuid[], p_body jsonb[], p_traceparent text[], p_state smallint[], p_error jsonb[])
returns table (i int, result text, ahead int, ord bigint, event_id uuid, slot smallint, lane_id uuid)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_all int := coalesce(cardinality(p_slot), 0);
  v_have int[];          -- unfinished events of the item's lane
  v_near boolean[];      -- the lane might pass its cap with this batch, or its session is expired and a person speaks
  v_wakes boolean[];     -- its session is expired and a person speaks
  v_take boolean[];      -- null: all
  v_new bigint[];        -- positions of stored items
  v_ahead int[];
  v_ord bigint[];
  v_old int;
begin
  perform set_config('tk.tenants', p_tenants, true);
  with q as materialized (
    select * from unnest(p_slot, p_tenant, p_lane, p_cap, p_state, p_kind) with ordinality q(s, t, l, cap, st, k, o)),
  g as (select s, t, l, count(*) filter (where st < 10) n, bool_or(st < 10 and k <> 2) speaks from q group by s, t, l),
  c as materialized (
    select g.*, e.have, g.speaks and coalesce(z.session_state, 0) = 1 wakes from g cross join lateral (
      select count(*)::int have from tk.events e where e.slot = g.s and e.tenant_id = g.t and e.lane_id = g.l and e.state < 10) e
    left join lateral (select z.session_state from tk.lanes z where z.slot = g.s and z.tenant_id = g.t and z.id = g.l limit 1) z on true)
  select array_agg(c.have order by q.o), array_agg(c.wakes or c.have + c.n > q.cap order by q.o), array_agg(c.wakes order by q.o)
    into v_have, v_near, v_wakes
    from q join c on c.s = q.s and c.t = q.t and c.l = q.l;

  if true = any (v_near) then               -- count again under the lanes' locks: other accepts near the cap wait here
    perform 1 from (select distinct s, t, l from unnest(p_slot, p_tenant, p_lane, v_near) q(s, t, l, near) where near order by s, t, l) q
      cross join lateral (select 1 from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l for no key update) z;
    with q as materialized (
      select q.*, st < 10 and (select true from tk.dedupe_keys d where d.tenant_id = q.t and d.scope = q.a and d.key = q.d limit 1) is null fresh
      from unnest(p_slot, p_tenant, p_lane, p_scope, p_dedupe, p_cap, p_state, v_have, v_near)
        with ordinality q(s, t, l, a, d, cap, st, have, near, o)),
    c as materialized (
      select g.*, e.have from (select distinct s, t, l from q where near) g cross join lateral (
        select count(*)::int have from tk.events e where e.slot = g.s and e.tenant_id = g.t and e.lane_id = g.l and e.state < 10) e)
    select array_agg(coalesce(c.have, q.have) order by q.o),
           array_agg(not fresh or c.have is null or c.have + q.nth <= q.cap order by q.o)
      into v_have, v_take
      from (select q.*, count(*) filter (where fresh) over (partition by s, t, l order by o) nth from q) q
      left join c on c.s = q.s and c.t = q.t and c.l = q.l;
  end if;

  with q as materialized (
    select * from unnest(p_slot, p_tenant, p_agent, p_lane, p_key, p_scope, p_dedupe, p_hash,
                         p_event, p_kind, p_account, p_body, p_traceparent, p_state, p_error, v_have, v_take)
      with ordinality q(s, t, g, l, k, a, d, h, e, kd, ac, b, tp, st, er, have, take, o)),
  d as (
    insert into tk.dedupe_keys (tenant_id, scope, key, body_hash, event_id, slot, lane_id)
    select t, a, d, h, e, s, l from q where take is not false order by t, a, d, o
    on conflict do nothing returning event_id),
  n as materialized (select q.* from q join d on d.event_id = q.e),
  l as (
    -- existing lanes are left out by a plain read: "on conflict" would wait for whoever updates them
    insert into tk.lanes (slot, tenant_id, id, agent_id, key, source)
    select distinct on (s, t, l) s, t, l, g, k, b -> 'source' from n
      left join lateral (select true y from tk.lanes z where z.slot = n.s and z.tenant_id = n.t and z.id = n.l limit 1) z on true
    where z.y is null order by s, t, l, o
    on conflict do nothing),
  e as (
    insert into tk.events (slot, tenant_id, lane_id, id, kind, state, account_id, body, error, traceparent, accepted_by, settled_at)
    select s, t, l, e, kd, st, ac, b, er, tp, p_node, case when st >= 10 then now() end from n order by o
    returning id, ord)
  select array_agg(x.o), array_agg(x.ahead), array_agg(x.ord) into v_new, v_ahead, v_ord
    from (select n.o, e.ord, n.have + (count(*) filter (where n.st < 10) over (partition by n.s, n.t, n.l order by n.o))::int - (n.st < 10)::int ahead
          from n join e on e.id = n.e) x;
  return query select u.o::int, 'accepted', u.ahead, u.ord, null::uuid, null::smallint, null::uuid from unnest(v_new, v_ahead, v_ord) u(o, ahead, ord);

  if true = any (v_wakes) then              -- their lanes are locked since before their keys were taken
    with w as materialized (
      select distinct p_slot[n.o] s, p_tenant[n.o] t, p_lane[n.o] l from unnest(v_new) n(o) where v_wakes[n.o] and p_state[n.o] < 10 and p_kind[n.o] <> 2),
    ln as (
      update tk.lanes z set session_state = 0, seq = z.seq + 1, last_activity_at = now()
      from w where z.slot = w.s and z.tenant_id = w.t and z.id = w.l and z.session_state = 1
      returning z.slot, z.tenant_id, z.id, z.session_id, z.seq),
    mk as (
      insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
      select slot, tenant_id, id, seq, 'session.resumed', session_id, '{"reason": "message"}' from ln)
    update tk.sessions s set status = 'active' from ln
      where s.slot = ln.slot and s.tenant_id = ln.tenant_id and s.id = ln.session_id and s.status = 'expired';
  end if;

  if coalesce(cardinality(v_new), 0) < v_all then   -- a statement of its own: its snapshot sees the acceptance that won
    return query
      select q.o::int,
             case when q.take is false then 'lane_full' when d.event_id = q.e then 'accepted' when d.body_hash = q.h then 'duplicate' else 'mismatch' end,
             y.ahead, y.ord, d.event_id, d.slot, d.lane_id
      from unnest(p_tenant, p_scope, p_dedupe, p_hash, p_event, v_take) with ordinality q(t, a, d, h, e, take, o)
      left join lateral (
        select * from tk.dedupe_keys d where d.tenant_id = q.t and d.scope = q.a and d.key = q.d limit 1) d on q.take is not false
      -- the event of the first acceptance, which may be an earlier try of this very call; one that has ended has none before it
      left join lateral (
        select y.ord, case when y.state < 10 then (select count(*)::int from tk.events b
          where b.slot = d.slot and b.tenant_id = q.t and b.lane_id = d.lane_id and b.state < 10 and b.ord < y.ord) else 0 end ahead
        from tk.events y where y.tenant_id = q.t and y.id = d.event_id limit 1) y on true
      where (v_new is null or q.o <> all (v_new)) and (q.take is false or d.event_id is not null);
    get diagnostics v_old = row_count;
    if coalesce(cardinality(v_new), 0) + v_old <> v_all then
      raise exception 'accept: % new + % old <> %', coalesce(cardinality(v_new), 0), v_old, v_all using errcode = '40001';
    end if;
  end if;
end $f$;
