-- P2: an event takes effect in one turn only.
select t.tenant_id, t.lane_id, e.id as subject, 'events' as subject_kind, count(*) || ' turns took effect for one event' as detail
from tk.turns t cross join lateral unnest(t.event_ids) e(id)
where t.ended_at >= $1 and t.id >= tk.id_since($1) and t.state in (1, 2, 3, 4)
group by t.tenant_id, t.lane_id, e.id
having count(*) > 1
