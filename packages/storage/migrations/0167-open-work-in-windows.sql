-- The leader's look at open work goes over some slots at a time, so that a look costs the same however much is open.

-- open_until: the last slot of a window that begins with p_from and holds about p_rows of open events and of owed messages.
create function tk.open_until(p_from smallint, p_rows int) returns smallint language sql stable security invoker as $f$
  select greatest(p_from, least(
    (select e.slot - 1 from tk.events e where e.slot >= p_from and e.state < 10 order by e.slot, e.tenant_id, e.lane_id, e.ord offset p_rows limit 1),
    (select m.slot - 1 from tk.messages m where m.slot >= p_from and m.dstate in (0, 1, 4)
     order by m.slot, m.tenant_id, m.lane_id, m.seq, m.n offset p_rows limit 1),
    4095))::smallint
$f$;
revoke all on function tk.open_until from public;
grant execute on function tk.open_until to tk_sweep;

-- Turns of the tenant that run, by worker, as the leader counted them last: whether a lane could run is judged by them
alter table tk.tenant_load add column running jsonb not null default '{}';

-- measure_load: as in 0021, and what runs of each tenant is kept by worker.
create or replace function tk.measure_load(p_top int)
returns table (tenant_id uuid, queued bigint, running bigint, oldest_ready_ms double precision, quota_ratio double precision)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query
  with open as materialized (
    select e.slot, e.tenant_id, e.lane_id, count(*) n, min(e.accepted_at) oldest from tk.events e where e.state < 10 group by e.slot, e.tenant_id, e.lane_id),
  lane as materialized (
    select o.*, z.turn_id, z.boot_id, case when z.turn_id is null then 0 else cardinality(z.turn_ords) end taken
    from open o cross join lateral (
      select z.turn_id, z.turn_ords, z.boot_id from tk.lanes z where z.slot = o.slot and z.tenant_id = o.tenant_id and z.id = o.lane_id limit 1) z),
  per as materialized (
    select l.tenant_id, sum(l.n - l.taken)::bigint queued, count(l.turn_id) running, min(l.oldest) filter (where l.turn_id is null) oldest
    from lane l group by l.tenant_id),
  boots as materialized (
    select b.tenant_id, jsonb_object_agg(b.boot_id, b.n) running
    from (select l.tenant_id, l.boot_id, count(*) n from lane l where l.turn_id is not null and l.boot_id is not null group by l.tenant_id, l.boot_id) b
    group by b.tenant_id),
  gone as (
    delete from tk.tenant_load l where not exists (select 1 from per where per.tenant_id = l.tenant_id)),
  put as (
    insert into tk.tenant_load (tenant_id, queued, running, measured_at)
    select per.tenant_id, per.queued, coalesce(boots.running, '{}'), clock_timestamp()
    from per left join boots on boots.tenant_id = per.tenant_id order by per.tenant_id
    on conflict (tenant_id) do update set queued = excluded.queued, running = excluded.running, measured_at = excluded.measured_at)
  select per.tenant_id, per.queued, per.running, extract(epoch from clock_timestamp() - per.oldest)::double precision * 1000,
         per.queued / greatest(1, coalesce((t.limits ->> 'queuedPerTenant')::double precision, 10000))
  from per join tk.tenants t on t.id = per.tenant_id
  order by per.queued desc, per.running desc, per.tenant_id limit p_top;
end $f$;
