-- P2: what a turn wrote carries its own fence pair, and only a turn that ended by its own commit has a reply.
with t as materialized (select t.* from tk.tenants own cross join lateral (select * from tk.turns x where x.tenant_id = own.id and x.ended_at >= $1 offset 0) t)
select m.tenant_id, m.lane_id, m.id as subject, 'messages' as subject_kind, 'message carries a fence that is not its turn''s' as detail
from t join tk.messages m on m.slot = t.slot and m.tenant_id = t.tenant_id and m.lane_id = t.lane_id and m.seq >= t.seq and m.turn_id = t.id
where m.role <> 'notice' and m.fence <> t.fence
union all
select m.tenant_id, m.lane_id, m.id, 'messages', 'reply of a turn that was fenced'
from t join tk.messages m on m.slot = t.slot and m.tenant_id = t.tenant_id and m.lane_id = t.lane_id and m.seq >= t.seq and m.turn_id = t.id
where m.role = 'assistant' and t.state not in (1, 3, 4)
union all
select t.tenant_id, t.lane_id, t.id, 'turns', 'two turns of a lane with one fence'
from (select *, count(*) over (partition by slot, tenant_id, lane_id, fence) same from t) t
where t.same > 1
union all
select t.tenant_id, t.lane_id, t.id, 'turns', 'turn with a fence above its lane''s'
from t join tk.lanes l on l.slot = t.slot and l.tenant_id = t.tenant_id and l.id = t.lane_id
where t.fence > l.fence
