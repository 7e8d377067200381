-- P2: what a turn wrote carries its own fence pair, and only a turn that ended by its own commit has a reply.
select m.tenant_id, m.lane_id, m.id as subject, 'messages' as subject_kind, 'message carries a fence that is not its turn''s' as detail
from tk.messages m join tk.turns t on t.slot = m.slot and t.tenant_id = m.tenant_id and t.id = m.turn_id
where m.at >= $1 and m.id >= tk.id_since($1) and m.role <> 'notice' and m.fence <> t.fence
union all
select m.tenant_id, m.lane_id, m.id, 'messages', 'reply of a turn that was fenced'
from tk.messages m join tk.turns t on t.slot = m.slot and t.tenant_id = m.tenant_id and t.id = m.turn_id
where m.at >= $1 and m.id >= tk.id_since($1) and m.role = 'assistant' and t.state not in (1, 3, 4)
union all
select t.tenant_id, t.lane_id, t.id, 'turns', 'two turns of a lane with one fence'
from (select *, count(*) over (partition by slot, tenant_id, lane_id, fence) same from tk.turns where ended_at >= $1 and id >= tk.id_since($1)) t
where t.same > 1
union all
select t.tenant_id, t.lane_id, t.id, 'turns', 'turn with a fence above its lane''s'
from tk.turns t join tk.lanes l on l.slot = t.slot and l.tenant_id = t.tenant_id and l.id = t.lane_id
where t.ended_at >= $1 and t.id >= tk.id_since($1) and t.fence > l.fence
