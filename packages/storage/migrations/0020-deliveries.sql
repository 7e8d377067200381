-- Deliveries: pending → sending(boot, attempt) → delivered | failed | unknown | abandoned; a proven refusal → pending again.
-- A conversation's order is its lane's (seq, n): only the head is sent, everything before it is final, or unknown without
-- a resend to come.

-- pending heads of these partitions, over all tenants, but not of these accounts, with the time until they are due: ids
-- only, as tk_sweep
create function tk.owed_heads(p_partitions smallint[], p_limit int, p_except uuid[])
returns table (slot smallint, tenant_id uuid, lane_id uuid, due_ms double precision)
language sql stable security definer set search_path = pg_catalog, pg_temp as $f$
  with s as (select s.slot from tk.slots s where s.partition_id = any (p_partitions))
  select s.slot, w.tenant_id, w.lane_id, greatest(0, coalesce(extract(epoch from h.ddue - clock_timestamp())::double precision * 1000, 0)) due_ms
  from s
  cross join lateral (
    with recursive w as (
      (select m.tenant_id, m.lane_id from tk.messages m where m.slot = s.slot and m.dstate in (0, 1, 4) order by m.tenant_id, m.lane_id limit 1)
      union all
      select n.tenant_id, n.lane_id from w cross join lateral (
        select m.tenant_id, m.lane_id from tk.messages m where m.slot = s.slot and m.dstate in (0, 1, 4)
          and (m.tenant_id, m.lane_id) > (w.tenant_id, w.lane_id) order by m.tenant_id, m.lane_id limit 1) n)
    select w.tenant_id, w.lane_id from w) w
  cross join lateral (
    select m.dstate, m.ddue, m.account_id from tk.messages m
    where m.slot = s.slot and m.tenant_id = w.tenant_id and m.lane_id = w.lane_id and m.dstate in (0, 1, 4) and not (m.dstate = 4 and m.drecovered)
    order by m.seq, m.n limit 1) h
  where h.dstate = 0 and not coalesce(h.account_id = any (p_except), false)
  order by due_ms limit p_limit
$f$;

-- claim_due: heads of these lanes that are due, but not of these accounts → sending, before the first byte. Returns what it
-- marked.
create function tk.claim_due(p_tenants text, p_boot uuid, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_except uuid[])
returns table (
  slot smallint, tenant_id uuid, lane_id uuid, seq bigint, n smallint, id uuid, account_id uuid, attempt smallint, recovered boolean, run_id uuid, turn_id uuid,
  key text, agent_id uuid, role text, body jsonb, started_at timestamptz, at timestamptz, traceparent text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid[];
begin
  perform set_config('tk.tenants', p_tenants, true);
  -- the head is found first and locked by its key: "order by … limit 1 … skip locked" would pass over a locked head
  select array_agg(m.c) into v_c
    from (select distinct s, t, l from unnest(p_slot, p_tenant, p_lane) q(s, t, l) order by s, t, l) q
    cross join lateral (
      select m.seq, m.n from tk.messages m
      where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.dstate in (0, 1, 4) and not (m.dstate = 4 and m.drecovered)
      order by m.seq, m.n limit 1) h
    cross join lateral (
      select m.ctid c from tk.messages m
      where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq = h.seq and m.n = h.n and m.dstate + 0 = 0
        and (m.ddue is null or m.ddue <= clock_timestamp()) and not coalesce(m.account_id = any (p_except), false)
      for no key update skip locked) m;
  return query
  with up as (
    update tk.messages m set dstate = 1, dboot = p_boot, dattempt = coalesce(m.dattempt, 0) + 1, ddue = null, derror = null, dat = clock_timestamp()
    from unnest(v_c) q(c)
    where m.ctid = q.c and m.dstate + 0 = 0 and exists (select 1 from tk.workers w where w.boot_id = p_boot and w.state = 0)
    returning m.*)
  select up.slot, up.tenant_id, up.lane_id, up.seq, up.n, up.id, up.account_id, up.dattempt, up.drecovered, up.run_id, up.turn_id,
         z.key, z.agent_id, up.role, up.body, up.started_at, up.at, up.traceparent
  from up cross join lateral (select z.key, z.agent_id from tk.lanes z where z.slot = up.slot and z.tenant_id = up.tenant_id and z.id = up.lane_id limit 1) z;
end $f$;

-- settle: the recording of sends; returns the items that were still sending(me, attempt)
create function tk.settle(
  p_tenants text, p_boot uuid, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_seq bigint[], p_n smallint[],
  p_attempt smallint[], p_state smallint[], p_ref text[], p_after_ms double precision[], p_error jsonb[])
returns table (i int) language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
  with k as materialized (
    select q.*, m.c
    from (select * from unnest(p_slot, p_tenant, p_lane, p_seq, p_n, p_attempt, p_state, p_ref, p_after_ms, p_error)
            with ordinality q(s, t, l, sq, n, a, ds, rf, af, er, o) order by s, t, l, sq, n) q
    cross join lateral (
      select m.ctid c from tk.messages m where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq = q.sq and m.n = q.n limit 1) m)
  update tk.messages m
  set dstate = k.ds, dref = k.rf, derror = k.er, dat = clock_timestamp(),
      ddue = case when k.ds = 0 then clock_timestamp() + k.af * interval '1 millisecond' end
  from k
  where m.ctid = k.c and m.dstate + 0 = 1 and m.dboot = p_boot and m.dattempt = k.a
  returning k.o::int;
end $f$;

-- repair_deliveries: sends of lost processes → unknown; every unknown outcome is sent again once, marked recovered.
create function tk.repair_deliveries(p_limit int, p_error jsonb)
returns table (slot smallint, tenant_id uuid, lane_id uuid, resent boolean) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  if tk.lost_look_due() then
    return query
    with m as materialized (
      select m.slot, m.tenant_id, m.lane_id, m.seq, m.n from tk.messages m left join tk.workers o on o.boot_id = m.dboot
      where m.dstate in (0, 1, 4) and m.dstate = 1 and coalesce(o.state, 3) in (2, 3)
      order by m.slot, m.tenant_id, m.lane_id, m.seq, m.n limit p_limit),
    k as materialized (
      select y.c from m cross join lateral (
        select y.ctid c from tk.messages y
        where y.slot = m.slot and y.tenant_id = m.tenant_id and y.lane_id = m.lane_id and y.seq = m.seq and y.n = m.n and y.dstate + 0 = 1
        for no key update skip locked) y)
    update tk.messages y set dstate = 4, derror = p_error, dat = clock_timestamp() from k where y.ctid = k.c and y.dstate + 0 = 1
    returning y.slot, y.tenant_id, y.lane_id, false;
  end if;
  return query
  with k as materialized (
    select m.ctid c from tk.messages m where m.dstate = 4 and not m.drecovered order by m.slot limit p_limit for no key update skip locked)
  update tk.messages y set dstate = 0, drecovered = true, dboot = null, ddue = null from k
  where y.ctid = k.c and y.dstate + 0 = 4 and not y.drecovered
  returning y.slot, y.tenant_id, y.lane_id, true;
end $f$;

revoke all on function tk.owed_heads, tk.claim_due, tk.settle, tk.repair_deliveries from public;
grant execute on function tk.owed_heads, tk.claim_due, tk.settle to tk_engine;
grant execute on function tk.repair_deliveries to tk_sweep;

grant create on schema tk to tk_sweep;
alter function tk.owed_heads owner to tk_sweep;
revoke create on schema tk from tk_sweep;
