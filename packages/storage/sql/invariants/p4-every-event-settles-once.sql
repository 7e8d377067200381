-- P4: a final event says when and by what; a resuming or running one belongs to something that will end it.
select e.tenant_id, e.lane_id, e.id as subject, 'events' as subject_kind, 'final event without a time' as detail
from tk.events e where e.accepted_at >= $1 and e.state >= 10 and e.settled_at is null
union all
select e.tenant_id, e.lane_id, e.id, 'events', 'answered event without its turn'
from tk.events e
where e.accepted_at >= $1 and e.state in (10, 11, 12, 13)
  and not exists (select 1 from tk.turns t where t.slot = e.slot and t.tenant_id = e.tenant_id and t.id = e.turn_id and e.id = any (t.event_ids))
union all
select e.tenant_id, e.lane_id, e.id, 'events', 'answered event without a reply'
from tk.events e
where e.accepted_at >= $1 and e.state = 10
  and not exists (select 1 from tk.messages m where m.slot = e.slot and m.tenant_id = e.tenant_id and m.lane_id = e.lane_id and m.turn_id = e.turn_id and m.role = 'assistant')
union all
select e.tenant_id, e.lane_id, e.id, 'events', 'resuming event that no resume is owed to'
from tk.events e join tk.lanes l on l.slot = e.slot and l.tenant_id = e.tenant_id and l.id = e.lane_id
where e.accepted_at >= $1 and e.state = 1 and l.resume_of is null and l.turn_id is null
  and l.last_activity_at < now() - interval '10 seconds'
union all
select e.tenant_id, e.lane_id, e.id, 'events', 'waiting event whose question is not open'
from tk.events e join tk.lanes l on l.slot = e.slot and l.tenant_id = e.tenant_id and l.id = e.lane_id
where e.accepted_at >= $1 and e.state = 2
  and not exists (select 1 from tk.inputs i where i.slot = l.slot and i.tenant_id = l.tenant_id and i.id = l.waits_for and i.state = 'open')
