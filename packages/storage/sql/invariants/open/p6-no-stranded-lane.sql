-- P6: work has a live owner. A lane that waits although its tenant and its owner have turns to spare is stranded. How many a
-- tenant may run is counted over the cluster and, where workers cannot ask, as each worker's share: it must have less of both.
-- What runs anywhere is as the leader counted it last.
with running as materialized (
  select l.* from (select distinct e.slot, e.tenant_id, e.lane_id from tk.events e where e.state < 10 and e.slot between $1 and $2) w
  join tk.lanes l on l.slot = w.slot and l.tenant_id = w.tenant_id and l.id = w.lane_id where l.turn_id is not null),
by_both as materialized (
  select b.boot::uuid boot_id, o.tenant_id, b.n::int n from tk.tenant_load o cross join lateral jsonb_each_text(o.running) b(boot, n)),
by_boot as materialized (select boot_id, sum(n) n from by_both group by boot_id),
by_tenant as materialized (select tenant_id, sum(n) n from by_both group by tenant_id),
live as materialized (select greatest(count(*), 1) n from tk.workers where kind = 'session-worker' and state in (0, 1)),
ready as materialized (
  select l.slot, l.tenant_id, l.id as lane_id
  from (select distinct e.slot, e.tenant_id, e.lane_id from tk.events e
        where e.state < 10 and e.slot between $1 and $2 and e.state = 0 and e.accepted_at < now() - interval '10 seconds') e
  join tk.lanes l on l.slot = e.slot and l.tenant_id = e.tenant_id and l.id = e.lane_id
  where l.turn_id is null and not l.paused and l.waits_for is null and l.last_activity_at < now() - interval '10 seconds')
select r.tenant_id, r.lane_id, r.lane_id as subject, 'lanes' as subject_kind,
       case when w.boot_id is null then 'queued work in a partition without a live owner' else 'queued work that its owner does not run' end as detail,
       r.slot, w.boot_id is not null as repairable
from ready r
join tk.slots s on s.slot = r.slot
join tk.partitions p on p.id = s.partition_id
left join tk.workers w on w.boot_id = p.owner and w.state in (0, 1)
join (select t.id, coalesce((t.limits ->> 'turnSlots')::int, 100) as turn_slots from tk.tenants t where t.status = 'active') t on t.id = r.tenant_id
cross join live
left join by_boot on by_boot.boot_id = w.boot_id
left join by_tenant on by_tenant.tenant_id = r.tenant_id
left join by_both on by_both.boot_id = w.boot_id and by_both.tenant_id = r.tenant_id
where w.boot_id is null and p.changed_at < clock_timestamp() - interval '10 seconds'
  or w.boot_id is not null
    and coalesce(by_boot.n, 0) < w.turn_slots
    and coalesce(by_tenant.n, 0) < t.turn_slots
    and coalesce(by_both.n, 0) < greatest(t.turn_slots / live.n, 1)
union all
select l.tenant_id, l.id, l.turn_id, 'turns', 'turn of a dead owner is not interrupted', l.slot, true
from running l left join tk.workers w on w.boot_id = l.boot_id
where w.boot_id is null or w.state in (2, 3) and w.ended_at < clock_timestamp() - interval '10 seconds'
