-- P5: a send has a live owner, and what is due is sent. Through an account that was asked to wait nothing is due; one that has
-- sends in hand, or tried one lately, goes on: its receiver is slow, and more heads wait than it may be sent at once. It has
-- forgotten a head only if another lane of the same partition was served that became due five minutes later.
with owed as materialized (select m.* from tk.messages m where m.dstate in (0, 1, 4) and m.slot between $1 and $2),
late as materialized (
  select m.*, d.due from owed m cross join lateral (select greatest(m.at, coalesce(m.dat, m.at), coalesce(m.ddue, m.at)) due) d
  where m.dstate = 0 and d.due < now() - interval '60 seconds'
    and not exists (select 1 from tk.account_pauses p
                    where p.tenant_id = m.tenant_id and p.account_id = m.account_id and p.until > now() - interval '60 seconds')
    and not exists (select 1 from tk.messages y where y.slot = m.slot and y.tenant_id = m.tenant_id and y.lane_id = m.lane_id
                    and y.dstate in (0, 1, 4) and not (y.dstate = 4 and y.drecovered) and (y.seq, y.n) < (m.seq, m.n))),
going_on as materialized (
  select distinct m.tenant_id, m.account_id
  from tk.messages m left join tk.workers w on w.boot_id = m.dboot and w.state in (0, 1)
  where m.dstate in (0, 1, 4) and exists (select 1 from late) and m.account_id is not null
    and (m.dat > now() - interval '60 seconds' or m.dstate = 1 and w.boot_id is not null and m.dat > now() - interval '10 minutes')),
-- what an account served last, in each partition where one of its heads is late
served as materialized (
  select h.tenant_id, h.account_id, h.partition_id, y.at
  from (select distinct l.tenant_id, l.account_id, s.partition_id from late l join tk.slots s on s.slot = l.slot where l.account_id is not null) h
  cross join lateral (
    select y.at from tk.messages y join tk.slots s on s.slot = y.slot and s.partition_id = h.partition_id
    where y.tenant_id = h.tenant_id and y.id > tk.id_since(now() - interval '5 minutes') and y.account_id = h.account_id and y.dstate in (1, 2)
    order by y.id desc limit 1) y)
select m.tenant_id, m.lane_id, m.id as subject, 'messages' as subject_kind, 'send of a dead owner is not marked unknown' as detail,
       m.slot, true as repairable
from owed m left join tk.workers w on w.boot_id = m.dboot
where m.dstate = 1
  and (w.boot_id is null or w.state in (2, 3) and w.ended_at < clock_timestamp() - interval '10 seconds')
union all
select m.tenant_id, m.lane_id, m.id, 'messages', 'due reply that nobody sends', m.slot, true
from late m
where not exists (select 1 from going_on a where a.tenant_id = m.tenant_id and a.account_id = m.account_id)
  or exists (select 1 from tk.slots s join served v on v.partition_id = s.partition_id
             where s.slot = m.slot and v.tenant_id = m.tenant_id and v.account_id = m.account_id and v.at > m.due + interval '5 minutes')
