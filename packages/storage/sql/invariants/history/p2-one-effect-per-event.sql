-- P2: an event takes effect in one turn only.
select t.tenant_id, t.lane_id, e.id as subject, 'events' as subject_kind, count(*) || ' turns took effect for one event' as detail
from tk.tenants own cross join lateral (select * from tk.turns x where x.tenant_id = own.id and x.ended_at >= $1 offset 0) t cross join lateral unnest(t.event_ids) e(id)
where t.state in (1, 2, 3, 4)
group by t.tenant_id, t.lane_id, e.id
having count(*) > 1
