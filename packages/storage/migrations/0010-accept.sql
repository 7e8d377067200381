-- accept: dedupe keys (sorted), lanes (sorted), events (arrival order); all or none. One row per item that was stored or
-- came before: accepted | duplicate | mismatch | lane_full; i = position in the input, from 1.
-- Locks: rows of lanes near their cap (sorted) → dedupe keys (sorted) → new lanes (sorted).
create function tk.accept(
  p_tenants text, p_node uuid, p_slot smallint[], p_tenant uuid[], p_agent uuid[], p_lane uuid[], p_key text[], p_cap int[],
  p_scope uuid[], p_dedupe text[], p_hash bytea[],
  p_event uuid[], p_kind smallint[], p_account uuid[], p_body jsonb[], p_traceparent text[], p_state smallint[], p_error jsonb[])
returns table (i int, result text, ahead int, ord bigint, event_id uuid, slot smallint, lane_id uuid)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_all int := coalesce(cardinality(p_slot), 0);
  v_have int[];          -- unfinished events of the item's lane
  v_near boolean[];      -- the lane might pass its cap with this batch
  v_take boolean[];      -- null: all
  v_new bigint[];        -- positions of stored items
  v_ahead int[];
  v_ord bigint[];
  v_old int;
begin
  perform set_config('tk.tenants', p_tenants, true);
  with q as materialized (
    select * from unnest(p_slot, p_tenant, p_lane, p_cap, p_state) with ordinality q(s, t, l, cap, st, o)),
  g as (select s, t, l, count(*) filter (where st < 10) n from q group by s, t, l),
  c as materialized (
    select g.*, e.have from g cross join lateral (
      select count(*)::int have from tk.events e where e.slot = g.s and e.tenant_id = g.t and e.lane_id = g.l and e.state < 10) e)
  select array_agg(c.have order by q.o), array_agg(c.have + c.n > q.cap order by q.o) into v_have, v_near
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

revoke all on function tk.accept from public;
grant execute on function tk.accept to tk_engine;
