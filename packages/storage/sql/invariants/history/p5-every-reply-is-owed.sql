-- P5: a reply through an account is owed until it is proven.
select m.tenant_id, m.lane_id, m.id as subject, 'messages' as subject_kind, 'reply through an account is owed nothing' as detail
from tk.tenants own cross join lateral (select * from tk.turns x where x.tenant_id = own.id and x.ended_at >= $1 offset 0) t
join tk.messages m on m.slot = t.slot and m.tenant_id = t.tenant_id and m.lane_id = t.lane_id and m.seq >= t.seq and m.turn_id = t.id
where m.account_id is not null and m.dstate is null
union all
select m.tenant_id, m.lane_id, m.id, 'messages', 'reply through an account is owed nothing'
from tk.tenants own cross join lateral (select * from tk.messages x where x.tenant_id = own.id and x.at >= $1 and x.turn_id is null offset 0) m
where m.account_id is not null and m.dstate is null
