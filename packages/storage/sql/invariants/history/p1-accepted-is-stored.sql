-- P1: whatever was acknowledged is there. Dedupe rows live shorter than settled events, so each has its event.
select d.tenant_id, d.lane_id, d.event_id as subject, 'events' as subject_kind, 'accepted event is not stored' as detail
from tk.dedupe_keys d
where d.at >= $1 and d.at >= now() - interval '7 days'
  and not exists (select 1 from tk.events e where e.slot = d.slot and e.tenant_id = d.tenant_id and e.lane_id = d.lane_id and e.id = d.event_id)
  -- a message without a turn, and a session that a command began, are made once under a key, too
  and not exists (select 1 from tk.messages m where m.slot = d.slot and m.tenant_id = d.tenant_id and m.id = d.event_id)
  and not exists (select 1 from tk.lane_marks k where k.slot = d.slot and k.tenant_id = d.tenant_id and k.lane_id = d.lane_id and k.session_id = d.event_id)
