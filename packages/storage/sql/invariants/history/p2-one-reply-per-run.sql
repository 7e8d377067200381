-- P2, P5: a run has one reply.
select m.tenant_id, m.lane_id, m.run_id as subject, 'events' as subject_kind, count(*) || ' replies for one run' as detail
from tk.messages m
where m.at >= $1 and m.id >= tk.id_since($1) and m.role = 'assistant' and m.run_id is not null
group by m.tenant_id, m.lane_id, m.run_id
having count(*) > 1
