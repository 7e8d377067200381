-- Tickets for streams are signed, so no node asks for what is in them; that each works once, on whatever node, is this
-- row. It is written when a ticket is used and may go once the ticket has expired.
create table tk.used_tickets (
  tenant_id uuid not null,
  id uuid not null,
  expires_at timestamptz not null,
  primary key (tenant_id, id));

alter table tk.used_tickets enable row level security;
alter table tk.used_tickets force row level security;
create policy api on tk.used_tickets to tk_api
  using (tenant_id = (select nullif(current_setting('tk.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('tk.tenant', true), '')::uuid));
create policy admin on tk.used_tickets to tk_admin using (true) with check (true);
create policy sweep on tk.used_tickets to tk_sweep using (true) with check (true);
grant select, insert, update, delete on tk.used_tickets to tk_api;
grant select on tk.used_tickets to tk_admin;
grant select, delete on tk.used_tickets to tk_sweep;

-- use_ticket: true the first time. Expired rows of the tenant go with it, some each time.
create function tk.use_ticket(p_tenant uuid, p_id uuid, p_expires timestamptz) returns table (used boolean)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenant', p_tenant::text, true);
  with k as (select t.ctid c from tk.used_tickets t where t.tenant_id = p_tenant and t.expires_at < now() - interval '1 minute' limit 20 for update skip locked)
  delete from tk.used_tickets t using k where t.ctid = k.c;
  insert into tk.used_tickets (tenant_id, id, expires_at) values (p_tenant, p_id, p_expires) on conflict do nothing;
  return query select found;
end $f$;

revoke all on function tk.use_ticket from public;
grant execute on function tk.use_ticket to tk_api;
