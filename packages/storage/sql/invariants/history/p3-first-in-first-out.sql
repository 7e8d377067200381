-- P3: an event that was visible when a later one was claimed is consumed first. accepted_at is the start of the accepting
-- transaction, which the statement time-out keeps under 5 s: only pairs further apart are sure.
select e.tenant_id, e.lane_id, e.id as subject, 'events' as subject_kind, 'consumed after an event that came later' as detail
from (select e.*, min(e.seq) over (partition by e.slot, e.tenant_id, e.lane_id order by e.ord rows between 1 following and unbounded following) after_seq
      from tk.tenants own cross join lateral (select * from tk.events x where x.tenant_id = own.id and x.id >= tk.id_since($1) and x.accepted_at >= $1 offset 0) e where e.seq is not null) e
where e.after_seq < e.seq
  and exists (select 1 from tk.events y where y.slot = e.slot and y.tenant_id = e.tenant_id and y.lane_id = e.lane_id
              and y.ord > e.ord and y.seq < e.seq and y.started_at > e.accepted_at + interval '5 seconds')
