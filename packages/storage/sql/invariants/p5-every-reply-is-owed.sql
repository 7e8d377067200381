-- P5: a reply through an account is owed until it is proven, and a send has a live owner.
select m.tenant_id, m.lane_id, m.id as subject, 'messages' as subject_kind, 'reply through an account is owed nothing' as detail
from tk.messages m
where m.at >= $1 and m.account_id is not null and m.dstate is null
union all
select m.tenant_id, m.lane_id, m.id, 'messages', 'send of a dead owner is not marked unknown'
from tk.messages m join tk.workers w on w.boot_id = m.dboot
where m.at >= $1 and m.dstate = 1 and w.state in (2, 3) and w.ended_at < clock_timestamp() - interval '10 seconds'
union all
select m.tenant_id, m.lane_id, m.id, 'messages', 'due reply that nobody sends'
from tk.messages m
where m.at >= $1 and m.dstate = 0 and greatest(m.at, coalesce(m.dat, m.at), coalesce(m.ddue, m.at)) < now() - interval '60 seconds'
  and not exists (select 1 from tk.messages y where y.slot = m.slot and y.tenant_id = m.tenant_id and y.lane_id = m.lane_id
                  and y.dstate in (0, 1, 4) and not (y.dstate = 4 and y.drecovered) and (y.seq, y.n) < (m.seq, m.n))
