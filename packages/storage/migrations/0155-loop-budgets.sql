-- What the budgets of loops ask of the journal: who spoke in a lane before. Read only where a bot wrote the message at hand.

-- earlier_events: events of a lane before p_ord, newest first, not older than p_within_ms; by_person: neither a bot, nor
-- another session, nor the system wrote it; answered: its turn said something.
create function tk.earlier_events(p_tenants text, p_slot smallint, p_tenant uuid, p_lane uuid, p_ord bigint, p_within_ms double precision, p_limit int)
returns table (by_person boolean, answered boolean)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
  select e.kind <> 2 and coalesce(e.body -> 'source' ->> 'isBot', '') <> 'true' and not e.body ? 'hops', e.kind <> 2 and e.state = 10
  from tk.events e
  where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord < p_ord
    and e.accepted_at > clock_timestamp() - p_within_ms * interval '1 millisecond'
  order by e.ord desc limit p_limit;
end $f$;

revoke all on function tk.earlier_events from public;
grant execute on function tk.earlier_events to tk_engine;
