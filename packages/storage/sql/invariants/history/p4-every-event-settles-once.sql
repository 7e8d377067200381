-- P4: a final event says when and by what.
with e as materialized (select e.* from tk.tenants own cross join lateral (select * from tk.events x where x.tenant_id = own.id and x.id >= tk.id_since($1) and x.accepted_at >= $1 offset 0) e)
select e.tenant_id, e.lane_id, e.id as subject, 'events' as subject_kind, 'final event without a time' as detail
from e where e.state >= 10 and e.settled_at is null
union all
select e.tenant_id, e.lane_id, e.id, 'events', 'answered event without its turn'
from e
where e.state in (10, 11, 12, 13)
  and not exists (select 1 from tk.turns t where t.slot = e.slot and t.tenant_id = e.tenant_id and t.id = e.turn_id and e.id = any (t.event_ids))
union all
select e.tenant_id, e.lane_id, e.id, 'events', 'answered event without a reply'
from e
where e.state = 10
  and not exists (select 1 from tk.messages m where m.slot = e.slot and m.tenant_id = e.tenant_id and m.lane_id = e.lane_id and m.turn_id = e.turn_id and m.role = 'assistant')
