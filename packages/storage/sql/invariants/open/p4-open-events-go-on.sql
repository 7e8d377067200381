-- P4: a resuming, waiting or held event belongs to something that will end it, however old it is.
select e.tenant_id, e.lane_id, e.id as subject, 'events' as subject_kind, 'resuming event that no resume is owed to' as detail,
       e.slot, true as repairable
from tk.events e join tk.lanes l on l.slot = e.slot and l.tenant_id = e.tenant_id and l.id = e.lane_id
where e.state < 10 and e.slot between $1 and $2 and e.state = 1 and l.resume_of is null and l.turn_id is null
  and l.last_activity_at < now() - interval '10 seconds'
union all
select e.tenant_id, e.lane_id, e.id, 'events', 'waiting event whose question is not open', e.slot, true
from tk.events e join tk.lanes l on l.slot = e.slot and l.tenant_id = e.tenant_id and l.id = e.lane_id
where e.state < 10 and e.slot between $1 and $2 and e.state = 2
  and not exists (select 1 from tk.inputs i where i.slot = l.slot and i.tenant_id = l.tenant_id and i.id = l.waits_for and i.state = 'open')
union all
select l.tenant_id, l.id, l.id, 'lanes', 'lane that waits for a question that is not open', l.slot, true
from (select distinct e.slot, e.tenant_id, e.lane_id from tk.events e where e.state < 10 and e.slot between $1 and $2 and e.state <> 2) w
join tk.lanes l on l.slot = w.slot and l.tenant_id = w.tenant_id and l.id = w.lane_id
where l.waits_for is not null and l.turn_id is null
  and not exists (select 1 from tk.inputs i where i.slot = l.slot and i.tenant_id = l.tenant_id and i.id = l.waits_for and i.state = 'open')
