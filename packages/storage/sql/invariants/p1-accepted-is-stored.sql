-- P1: whatever was acknowledged is there. Dedupe rows live shorter than settled events, so each has its event.
select d.tenant_id, d.lane_id, d.event_id as subject, 'events' as subject_kind, 'accepted event is not stored' as detail
from tk.dedupe_keys d
where d.at >= $1 and d.at >= now() - interval '7 days'
  and not exists (select 1 from tk.events e where e.slot = d.slot and e.tenant_id = d.tenant_id and e.lane_id = d.lane_id and e.id = d.event_id)
