-- P3: replies leave in the order of their lane.
select m.tenant_id, m.lane_id, m.id as subject, 'messages' as subject_kind, 'reply waits while a later one of its lane was sent' as detail,
       m.slot, false as repairable
from tk.messages m
where m.dstate in (0, 1, 4) and m.dstate in (0, 1) and not m.drecovered and m.at >= $3
  and m.slot between $1 and $2
  and exists (select 1 from tk.messages y where y.slot = m.slot and y.tenant_id = m.tenant_id and y.lane_id = m.lane_id
              and (y.seq, y.n) > (m.seq, m.n) and y.dstate = 2 and y.dref is distinct from 'run')
