-- Questions about lanes that write nothing. Under the engine's list of tenants: look, still_running. Over all tenants, as
-- tk_sweep and giving out ids only: scan and running; a worker must find lanes of tenants it has never heard of. Lanes are
-- fetched one by one ("limit 1"): a join may be planned as a walk over all lanes there are.

-- has the lane work that nobody runs?
create function tk.look(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[])
returns table (i int) language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int from unnest(p_slot, p_tenant, p_lane) with ordinality q(s, t, l, o)
    cross join lateral (select z.* from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l limit 1) z
    where z.turn_id is null and not z.paused and z.waits_for is null
      and (z.resume_of is not null
        or (select true from tk.events e where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.state < 10 and e.state = 0 limit 1));
end $f$;

-- does this turn still run, by its lane's row?
create function tk.still_running(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_turn uuid[])
returns table (i int) language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int from unnest(p_slot, p_tenant, p_lane, p_turn) with ordinality q(s, t, l, n, o)
    cross join lateral (select z.turn_id from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l limit 1) z
    where z.turn_id = q.n;
end $f$;

-- lanes of these partitions with work and no turn; the walk steps from lane to lane, not from event to event
create function tk.scan(p_partitions smallint[], p_limit int)
returns table (slot smallint, tenant_id uuid, lane_id uuid, max_ord bigint)
language sql stable security definer set search_path = pg_catalog, pg_temp as $f$
  with s as (select s.slot from tk.slots s where s.partition_id = any (p_partitions)),
  ready as (
    select s.slot, w.tenant_id, w.lane_id
    from s cross join lateral (
      with recursive w as (
        (select e.tenant_id, e.lane_id from tk.events e where e.slot = s.slot and e.state < 10 order by e.tenant_id, e.lane_id limit 1)
        union all
        select n.tenant_id, n.lane_id from w cross join lateral (
          select e.tenant_id, e.lane_id from tk.events e where e.slot = s.slot and e.state < 10
            and (e.tenant_id, e.lane_id) > (w.tenant_id, w.lane_id) order by e.tenant_id, e.lane_id limit 1) n)
      select w.tenant_id, w.lane_id from w) w)
  select r.slot, r.tenant_id, r.lane_id, q.max_ord
  from ready r
  cross join lateral (select z.* from tk.lanes z where z.slot = r.slot and z.tenant_id = r.tenant_id and z.id = r.lane_id limit 1) z
  left join lateral (
    select e.ord max_ord from tk.events e
    where e.slot = r.slot and e.tenant_id = r.tenant_id and e.lane_id = r.lane_id and e.state < 10 and e.state = 0 order by e.ord desc limit 1) q on true
  where z.turn_id is null and not z.paused and z.waits_for is null and (z.resume_of is not null or q.max_ord is not null)
  limit p_limit
$f$;

-- running turns of one process. A running turn's events are unfinished, so the same walk over all slots finds its lane;
-- an index on the lanes' turns would make each claim and each commit write every index of the lane again.
create function tk.running(p_boot uuid)
returns table (slot smallint, tenant_id uuid, lane_id uuid, turn_id uuid, fence bigint, started_at timestamptz, age_ms double precision)
language sql stable security definer set search_path = pg_catalog, pg_temp as $f$
  with recursive w as (
    (select e.slot, e.tenant_id, e.lane_id from tk.events e where e.state < 10 order by e.slot, e.tenant_id, e.lane_id limit 1)
    union all
    select n.slot, n.tenant_id, n.lane_id from w cross join lateral (
      select e.slot, e.tenant_id, e.lane_id from tk.events e where e.state < 10
        and (e.slot, e.tenant_id, e.lane_id) > (w.slot, w.tenant_id, w.lane_id) order by e.slot, e.tenant_id, e.lane_id limit 1) n)
  select z.slot, z.tenant_id, z.id, z.turn_id, z.fence, z.turn_started_at,
         extract(epoch from clock_timestamp() - z.turn_started_at)::double precision * 1000
  from w cross join lateral (select z.* from tk.lanes z where z.slot = w.slot and z.tenant_id = w.tenant_id and z.id = w.lane_id limit 1) z
  where z.turn_id is not null and z.boot_id = p_boot
$f$;

revoke all on function tk.look, tk.still_running, tk.scan, tk.running from public;
grant execute on function tk.look, tk.still_running, tk.scan, tk.running to tk_engine;

grant create on schema tk to tk_sweep;
alter function tk.scan owner to tk_sweep;
alter function tk.running owner to tk_sweep;
revoke create on schema tk from tk_sweep;
