-- measure_load: queued events per tenant into tenant_load, for the caps that every ingress keeps; the p_top busiest come back.
-- queued = accepted, unfinished and in no running turn.
create function tk.measure_load(p_top int)
returns table (tenant_id uuid, queued bigint, running bigint, oldest_ready_ms double precision, quota_ratio double precision)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query
  with open as materialized (
    select e.slot, e.tenant_id, e.lane_id, count(*) n, min(e.accepted_at) oldest from tk.events e where e.state < 10 group by e.slot, e.tenant_id, e.lane_id),
  per as materialized (
    select o.tenant_id, sum(o.n - case when z.turn_id is null then 0 else cardinality(z.turn_ords) end)::bigint queued,
           count(z.turn_id) running, min(o.oldest) filter (where z.turn_id is null) oldest
    from open o cross join lateral (
      select z.turn_id, z.turn_ords from tk.lanes z where z.slot = o.slot and z.tenant_id = o.tenant_id and z.id = o.lane_id limit 1) z
    group by o.tenant_id),
  gone as (
    delete from tk.tenant_load l where not exists (select 1 from per where per.tenant_id = l.tenant_id)),
  put as (
    insert into tk.tenant_load (tenant_id, queued, measured_at)
    select per.tenant_id, per.queued, clock_timestamp() from per order by per.tenant_id
    on conflict (tenant_id) do update set queued = excluded.queued, measured_at = excluded.measured_at)
  select per.tenant_id, per.queued, per.running, extract(epoch from clock_timestamp() - per.oldest)::double precision * 1000,
         per.queued / greatest(1, coalesce((t.limits ->> 'queuedPerTenant')::double precision, 10000))
  from per join tk.tenants t on t.id = per.tenant_id
  order by per.queued desc, per.running desc, per.tenant_id limit p_top;
end $f$;

revoke all on function tk.measure_load from public;
grant execute on function tk.measure_load to tk_sweep;
