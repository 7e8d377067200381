-- earlier_events_of: as earlier_events of 0155, which the program before still calls, for the messages of bots of one tick at
-- once; row by row of the call, newest first.
create function tk.earlier_events_of(
  p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_ord bigint[], p_within_ms double precision[], p_limit int[])
returns table (i int, by_person boolean, answered boolean)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
  select q.o::int, e.by_person, e.answered
  from unnest(p_slot, p_tenant, p_lane, p_ord, p_within_ms, p_limit) with ordinality q(s, t, l, ord, within_ms, lim, o)
  cross join lateral (
    select e.ord, e.kind <> 2 and coalesce(e.body -> 'source' ->> 'isBot', '') <> 'true' and not e.body ? 'hops' by_person,
           e.kind <> 2 and e.state = 10 answered
    from tk.events e
    where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.ord < q.ord
      and e.accepted_at > clock_timestamp() - q.within_ms * interval '1 millisecond'
    order by e.ord desc limit q.lim) e
  order by q.o, e.ord desc;
end $f$;

revoke all on function tk.earlier_events_of from public;
grant execute on function tk.earlier_events_of to tk_engine;
