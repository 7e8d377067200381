-- A pause that a platform asked for (0151) can be seen with its account, and lifted by an operator who knows better: a platform
-- that asked for a day and was repaired in a minute would else hold all that is owed through the account.

create policy api on tk.account_pauses to tk_api
  using (tenant_id = (select nullif(current_setting('tk.tenant', true), '')::uuid));
grant select on tk.account_pauses to tk_api;
grant delete on tk.account_pauses to tk_admin;
grant update (ddue) on tk.messages to tk_admin;

-- unpause_account: what is owed through the account may leave now, also what waits because it was refused. True: it was paused.
-- Rows that somebody has in hand are left alone: they are being sent.
create function tk.unpause_account(p_tenant uuid, p_account uuid) returns boolean
language plpgsql volatile security invoker as $f$
begin
  delete from tk.account_pauses p where p.account_id = p_account and p.tenant_id = p_tenant and p.until > clock_timestamp();
  if not found then
    return false;
  end if;
  update tk.messages m set ddue = null from (
      select m.ctid c from tk.messages m
      where m.tenant_id = p_tenant and m.dstate in (0, 3, 4, 5) and m.dstate = 0 and m.account_id = p_account and m.ddue > clock_timestamp()
      for no key update skip locked) q
    where m.ctid = q.c and m.dstate + 0 = 0;
  return true;
end $f$;

revoke all on function tk.unpause_account from public;
grant execute on function tk.unpause_account to tk_admin;
