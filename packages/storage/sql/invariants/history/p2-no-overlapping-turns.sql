-- P2: turns of a lane follow one another; a running one began after all that ended.
select t.tenant_id, t.lane_id, t.id as subject, 'turns' as subject_kind, 'turn began before the one before it ended' as detail
from (select t.tenant_id, t.lane_id, t.id, t.started_at,
             max(t.ended_at) over (partition by t.slot, t.tenant_id, t.lane_id order by t.seq, t.end_seq rows between unbounded preceding and 1 preceding) before
      from tk.tenants own cross join lateral (select * from tk.turns x where x.tenant_id = own.id and x.ended_at >= $1 offset 0) t) t
where t.started_at < t.before
union all
select l.tenant_id, l.id, l.turn_id, 'turns', 'turn runs since before the last one ended'
from (select distinct e.slot, e.tenant_id, e.lane_id from tk.events e where e.state < 10) w
join tk.lanes l on l.slot = w.slot and l.tenant_id = w.tenant_id and l.id = w.lane_id
where l.turn_id is not null
  and exists (select 1 from tk.turns t where t.slot = l.slot and t.tenant_id = l.tenant_id and t.lane_id = l.id and t.ended_at >= $1 and t.ended_at > l.turn_started_at)
