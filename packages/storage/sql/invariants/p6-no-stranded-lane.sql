-- P6: work has a live owner. A lane that waits although its tenant and its owner have turns to spare is stranded.
with ready as (
  select l.slot, l.tenant_id, l.id as lane_id, min(e.accepted_at) as since
  from tk.events e join tk.lanes l on l.slot = e.slot and l.tenant_id = e.tenant_id and l.id = e.lane_id
  where e.state = 0 and e.accepted_at >= $1 and e.accepted_at < now() - interval '10 seconds'
    and l.turn_id is null and not l.paused and l.waits_for is null and l.last_activity_at < now() - interval '10 seconds'
  group by l.slot, l.tenant_id, l.id),
running as (select tenant_id, boot_id, count(*) as turns from tk.lanes where turn_id is not null group by tenant_id, boot_id)
select r.tenant_id, r.lane_id, r.lane_id as subject, 'lanes' as subject_kind,
       case when w.boot_id is null then 'queued work in a partition without a live owner' else 'queued work that its owner does not run' end as detail
from ready r
join tk.slots s on s.slot = r.slot
join tk.partitions p on p.id = s.partition_id
left join tk.workers w on w.boot_id = p.owner and w.state in (0, 1)
join tk.tenants t on t.id = r.tenant_id and t.status = 'active'
where r.since < now() - interval '10 seconds'
  and (w.boot_id is null and p.changed_at < clock_timestamp() - interval '10 seconds'
    or w.boot_id is not null
      and coalesce((select sum(turns) from running where boot_id = w.boot_id), 0) < w.turn_slots
      and coalesce((select sum(turns) from running where tenant_id = r.tenant_id), 0) < coalesce((t.limits ->> 'turnSlots')::int, 100))
union all
select l.tenant_id, l.id, l.turn_id, 'turns', 'turn of a dead owner is not interrupted'
from tk.lanes l left join tk.workers w on w.boot_id = l.boot_id
where l.turn_id is not null and (w.boot_id is null or w.state in (2, 3) and w.ended_at < clock_timestamp() - interval '10 seconds')
