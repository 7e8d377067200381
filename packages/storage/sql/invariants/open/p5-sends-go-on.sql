-- P5: a send has a live owner, and what is due is sent. Through an account that was asked to wait nothing is due; one that has
-- sends in hand, or tried one lately, goes on: its receiver is slow, and more heads wait than it may be sent at once.
with owed as materialized (select m.* from tk.messages m where m.dstate in (0, 1, 4)),
going_on as materialized (
  select distinct m.tenant_id, m.account_id
  from owed m left join tk.workers w on w.boot_id = m.dboot and w.state in (0, 1)
  where m.account_id is not null
    and (m.dat > now() - interval '60 seconds' or m.dstate = 1 and w.boot_id is not null and m.dat > now() - interval '10 minutes'))
select m.tenant_id, m.lane_id, m.id as subject, 'messages' as subject_kind, 'send of a dead owner is not marked unknown' as detail,
       m.slot, true as repairable
from owed m left join tk.workers w on w.boot_id = m.dboot
where m.dstate = 1
  and (w.boot_id is null or w.state in (2, 3) and w.ended_at < clock_timestamp() - interval '10 seconds')
union all
select m.tenant_id, m.lane_id, m.id, 'messages', 'due reply that nobody sends', m.slot, true
from owed m
where m.dstate = 0 and greatest(m.at, coalesce(m.dat, m.at), coalesce(m.ddue, m.at)) < now() - interval '60 seconds'
  and not exists (select 1 from going_on a where a.tenant_id = m.tenant_id and a.account_id = m.account_id)
  and not exists (select 1 from tk.account_pauses p
                  where p.tenant_id = m.tenant_id and p.account_id = m.account_id and p.until > now() - interval '60 seconds')
  and not exists (select 1 from tk.messages y where y.slot = m.slot and y.tenant_id = m.tenant_id and y.lane_id = m.lane_id
                  and y.dstate in (0, 1, 4) and not (y.dstate = 4 and y.drecovered) and (y.seq, y.n) < (m.seq, m.n))
