-- P2, P5: a run has one reply.
select m.tenant_id, m.lane_id, m.run_id as subject, 'events' as subject_kind, count(*) || ' replies for one run' as detail
from tk.tenants own cross join lateral (select * from tk.turns x where x.tenant_id = own.id and x.ended_at >= $1 offset 0) t
join tk.messages m on m.slot = t.slot and m.tenant_id = t.tenant_id and m.lane_id = t.lane_id and m.seq >= t.seq and m.turn_id = t.id
where m.role = 'assistant' and m.run_id is not null
group by m.tenant_id, m.lane_id, m.run_id
having count(*) > 1
