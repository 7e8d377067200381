-- A platform that asks for a wait (429) asks it of whoever sends through the account: nothing more leaves there until it is
-- over, from any worker, whatever restarts meanwhile. One row for each account that was ever asked to wait.

create table tk.account_pauses (
  account_id uuid primary key,
  tenant_id uuid not null references tk.tenants (id),
  until timestamptz not null);
create index account_pauses_until on tk.account_pauses (until);
create index account_pauses_tenant on tk.account_pauses (tenant_id);
alter table tk.account_pauses enable row level security;
alter table tk.account_pauses force row level security;
create policy engine on tk.account_pauses to tk_engine
  using (tenant_id in (select unnest(string_to_array(current_setting('tk.tenants', true), ',')::uuid[])))
  with check (tenant_id in (select unnest(string_to_array(current_setting('tk.tenants', true), ',')::uuid[])));
create policy admin on tk.account_pauses to tk_admin using (true) with check (true);
create policy sweep on tk.account_pauses to tk_sweep using (true) with check (true);
grant select, insert, update on tk.account_pauses to tk_engine;
grant select on tk.account_pauses to tk_admin;
grant select, delete on tk.account_pauses to tk_sweep;

-- pause_account: nothing leaves through the account for so many milliseconds, or longer where that was asked before
create function tk.pause_account(p_tenant uuid, p_account uuid, p_ms double precision) returns void
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  insert into tk.account_pauses as p (account_id, tenant_id, until) values (p_account, p_tenant, clock_timestamp() + p_ms * interval '1 millisecond')
    on conflict (account_id) do update set until = greatest(p.until, excluded.until);
end $f$;

-- paused_accounts: those of all tenants, the longest first: ids only, as tk_sweep
create function tk.paused_accounts(p_limit int) returns table (account_id uuid, left_ms double precision)
language sql stable security definer set search_path = pg_catalog, pg_temp as $f$
  select p.account_id, extract(epoch from p.until - clock_timestamp())::double precision * 1000
  from tk.account_pauses p where p.until > clock_timestamp() order by p.until desc limit p_limit
$f$;

-- claim_due: as in 0143, but not through an account that is paused. (What a commit takes in hand at once has not asked here:
-- its worker knows of a pause within a second.)
create or replace function tk.claim_due(p_tenants text, p_boot uuid, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_except uuid[])
returns table (
  slot smallint, tenant_id uuid, lane_id uuid, seq bigint, n smallint, id uuid, account_id uuid, attempt smallint, recovered boolean, run_id uuid, turn_id uuid,
  key text, agent_id uuid, role text, body jsonb, started_at timestamptz, at timestamptz, traceparent text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid[];
begin
  perform set_config('tk.tenants', p_tenants, true);
  -- the head is found first and locked by its key: "order by … limit 1 … skip locked" would pass over a locked head
  select array_agg(m.c) into v_c
    from (select distinct s, t, l from unnest(p_slot, p_tenant, p_lane) q(s, t, l) order by s, t, l) q
    cross join lateral (
      select m.seq, m.n from tk.messages m
      where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.dstate in (0, 1, 4) and not (m.dstate = 4 and m.drecovered)
      order by m.seq, m.n limit 1) h
    cross join lateral (
      select m.ctid c from tk.messages m
      where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq = h.seq and m.n = h.n and m.dstate + 0 = 0
        and (m.ddue is null or m.ddue <= clock_timestamp()) and not coalesce(m.account_id = any (p_except), false)
        and not coalesce((
          select p.until > clock_timestamp() from tk.account_pauses p where p.account_id = m.account_id and p.tenant_id = m.tenant_id limit 1), false)
      for no key update skip locked) m;
  return query
  with up as (
    update tk.messages m set dstate = 1, dboot = p_boot, dattempt = coalesce(m.dattempt, 0) + 1, ddue = null, derror = null, dat = clock_timestamp()
    from unnest(v_c) q(c)
    where m.ctid = q.c and m.dstate + 0 = 0 and exists (select 1 from tk.workers w where w.boot_id = p_boot and w.state = 0)
      and not coalesce((
        select (y.seq, y.n) < (m.seq, m.n) from tk.messages y
        where y.slot = m.slot and y.tenant_id = m.tenant_id and y.lane_id = m.lane_id and y.dstate in (0, 1, 4) and not (y.dstate = 4 and y.drecovered)
        order by y.seq, y.n limit 1), false)
    returning m.*)
  select up.slot, up.tenant_id, up.lane_id, up.seq, up.n, up.id, up.account_id, up.dattempt, up.drecovered, up.run_id, up.turn_id,
         z.key, z.agent_id, up.role, up.body, up.started_at, up.at, up.traceparent
  from up cross join lateral (select z.key, z.agent_id from tk.lanes z where z.slot = up.slot and z.tenant_id = up.tenant_id and z.id = up.lane_id limit 1) z;
end $f$;

revoke all on function tk.pause_account, tk.paused_accounts from public;
grant execute on function tk.pause_account, tk.paused_accounts to tk_engine;

grant create on schema tk to tk_sweep;
alter function tk.paused_accounts owner to tk_sweep;
revoke create on schema tk from tk_sweep;
