-- What a tenant used, by day (UTC) and agent, counted from rows that exist, behind the hot path (decision 0013).

create table tk.usage_progress (
  tenant_id uuid primary key references tk.tenants (id),
  counted_to timestamptz not null);              -- everything that ended up to here is counted
alter table tk.usage_progress enable row level security;
alter table tk.usage_progress force row level security;
create policy engine on tk.usage_progress to tk_engine
  using (tenant_id in (select unnest(string_to_array(current_setting('tk.tenants', true), ',')::uuid[])))
  with check (tenant_id in (select unnest(string_to_array(current_setting('tk.tenants', true), ',')::uuid[])));
create policy api on tk.usage_progress to tk_api
  using (tenant_id = (select nullif(current_setting('tk.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('tk.tenant', true), '')::uuid));
create policy admin on tk.usage_progress to tk_admin using (true) with check (true);
create policy sweep on tk.usage_progress to tk_sweep using (true) with check (true);
grant select on tk.usage_progress to tk_api, tk_admin;
grant select, insert, update, delete on tk.usage_progress to tk_sweep;
grant select on tk.usage to tk_api;
grant insert, update on tk.usage to tk_sweep;

-- count_usage: adds what ended in one tenant after what is counted and p_lag_ms ago: a transaction may commit a little later than
-- the moment in its rows. At most p_rows of each kind, and what shares the moment of the last. False: nothing was left to count,
-- or somebody else counts it.
create function tk.count_usage(p_tenant uuid, p_rows int, p_lag_ms double precision) returns boolean
language plpgsql volatile security invoker as $f$
declare
  v_from timestamptz;
  v_upto timestamptz := clock_timestamp() - p_lag_ms * interval '1 millisecond';
begin
  insert into tk.usage_progress (tenant_id, counted_to) values (p_tenant, '-infinity') on conflict do nothing;
  select p.counted_to into v_from from tk.usage_progress p where p.tenant_id = p_tenant for update skip locked;
  if not found or v_from >= v_upto then
    return false;
  end if;
  -- each kind is led through by its own index; the one with the most in the least time says how far this call comes
  v_upto := least(
    v_upto,
    (select x.ended_at from tk.turns x where x.tenant_id = p_tenant and x.ended_at > v_from
     order by x.ended_at offset p_rows - 1 limit 1),
    (select x.settled_at from tk.events x where x.tenant_id = p_tenant and x.state >= 14 and x.settled_at > v_from
     order by x.settled_at offset p_rows - 1 limit 1),
    (select x.at from tk.messages x where x.tenant_id = p_tenant and x.turn_id is null and x.at > v_from
     order by x.at offset p_rows - 1 limit 1));
  insert into tk.usage (tenant_id, day, agent_id, measure, amount)
    select p_tenant, (x.at at time zone 'UTC')::date, x.agent_id, x.measure, sum(x.amount)
    from (
      select t.ended_at at, t.agent_id, u.measure, u.amount
      from tk.turns t
      left join lateral (                        -- events that a lost turn ended: not every one of it is over
        select count(*) n from unnest(t.ords) w(ord) cross join lateral (
          select 1 from tk.events e
          where e.slot = t.slot and e.tenant_id = t.tenant_id and e.lane_id = t.lane_id and e.ord = w.ord and e.turn_id = t.id and e.state between 10 and 13 limit 1) e
      ) ended on t.state not in (1, 2, 3, 4)
      cross join lateral (
        select count(*) n from tk.messages m
        where m.slot = t.slot and m.tenant_id = t.tenant_id and m.lane_id = t.lane_id and m.seq = t.end_seq and m.account_id is not null and m.dstate is not null) sent
      cross join lateral (values
        ('turns', case when t.state <> 6 then 1 else 0 end::numeric),
        ('events', (case when t.state in (1, 2, 3, 4) then cardinality(t.ords) else ended.n end)::numeric),
        ('deliveries', sent.n::numeric),
        ('tokens_in', coalesce((t.usage ->> 'inputTokens')::numeric, 0)),
        ('tokens_out', coalesce((t.usage ->> 'outputTokens')::numeric, 0))) u(measure, amount)
      where t.tenant_id = p_tenant and t.ended_at > v_from and t.ended_at <= v_upto
      union all                                  -- events that ended without a turn's own end
      select e.settled_at, z.agent_id, 'events', 1
      from tk.events e cross join lateral (select z.agent_id from tk.lanes z where z.slot = e.slot and z.tenant_id = e.tenant_id and z.id = e.lane_id limit 1) z
      where e.tenant_id = p_tenant and e.state >= 14 and e.settled_at > v_from and e.settled_at <= v_upto
      union all                                  -- messages without a turn
      select m.at, z.agent_id, 'deliveries', 1
      from tk.messages m cross join lateral (select z.agent_id from tk.lanes z where z.slot = m.slot and z.tenant_id = m.tenant_id and z.id = m.lane_id limit 1) z
      where m.tenant_id = p_tenant and m.turn_id is null and m.account_id is not null and m.dstate is not null and m.at > v_from and m.at <= v_upto) x
    group by 2, 3, 4 having sum(x.amount) > 0
  on conflict (tenant_id, day, agent_id, measure) do update set amount = tk.usage.amount + excluded.amount;
  update tk.usage_progress p set counted_to = v_upto where p.tenant_id = p_tenant;
  return true;
end $f$;

-- usage_due: tenants of which something ended since they were counted, p_lag_ms and longer ago; who is furthest behind first
create function tk.usage_due(p_limit int, p_lag_ms double precision) returns table (tenant_id uuid)
language plpgsql stable security invoker as $f$
declare
  v_upto timestamptz := clock_timestamp() - p_lag_ms * interval '1 millisecond';
begin
  return query
    select t.id from (
      select t.id, coalesce(p.counted_to, '-infinity') counted_to
      from tk.tenants t left join tk.usage_progress p on p.tenant_id = t.id where t.status <> 'deleting') t
    where coalesce((select true from tk.turns x where x.tenant_id = t.id and x.ended_at > t.counted_to and x.ended_at <= v_upto limit 1), false)
      or coalesce((select true from tk.events x where x.tenant_id = t.id and x.state >= 14 and x.settled_at > t.counted_to and x.settled_at <= v_upto limit 1), false)
      or coalesce((select true from tk.messages x where x.tenant_id = t.id and x.turn_id is null and x.at > t.counted_to and x.at <= v_upto limit 1), false)
    order by t.counted_to, t.id limit p_limit;
end $f$;

revoke all on function tk.count_usage, tk.usage_due from public;
grant execute on function tk.count_usage, tk.usage_due to tk_sweep;
