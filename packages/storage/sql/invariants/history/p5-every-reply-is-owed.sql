-- P5: a reply through an account is owed until it is proven.
select m.tenant_id, m.lane_id, m.id as subject, 'messages' as subject_kind, 'reply through an account is owed nothing' as detail
from tk.messages m
where m.at >= $1 and m.id >= tk.id_since($1) and m.account_id is not null and m.dstate is null
