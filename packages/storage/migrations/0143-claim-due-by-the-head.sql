-- The key of tk.messages is made again, after the index by tenant and id of 0120: see the end of 0001. As long as a table looks
-- small, the newest index that a condition fits is taken, and that one fits whatever names a tenant.
alter table tk.messages drop constraint messages_pkey;
alter table tk.messages add primary key (slot, tenant_id, lane_id, seq, n);

-- claim_due: as in 0120, but the second look finds the head as the first one does, by what is owed: a bound on (seq, n) let
-- the planner read the whole past of the lane instead.
create or replace function tk.claim_due(p_tenants text, p_boot uuid, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_except uuid[])
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
      and not coalesce((
        select (y.seq, y.n) < (m.seq, m.n) from tk.messages y
        where y.slot = m.slot and y.tenant_id = m.tenant_id and y.lane_id = m.lane_id and y.dstate in (0, 1, 4) and not (y.dstate = 4 and y.drecovered)
        order by y.seq, y.n limit 1), false)
    returning m.*)
  select up.slot, up.tenant_id, up.lane_id, up.seq, up.n, up.id, up.account_id, up.dattempt, up.drecovered, up.run_id, up.turn_id,
         z.key, z.agent_id, up.role, up.body, up.started_at, up.at, up.traceparent
  from up cross join lateral (select z.key, z.agent_id from tk.lanes z where z.slot = up.slot and z.tenant_id = up.tenant_id and z.id = up.lane_id limit 1) z;
end $f$;
