-- Deleting a tenant: a receipt that outlives it, and the step that the leader repeats until nothing is left.

create table tk.deletions (                      -- no tenant_id: it is about a tenant that is no more
  id uuid primary key,                           -- the tenant's
  name text not null,
  requested_by text not null,
  requested_at timestamptz not null default now(),
  finished_at timestamptz,
  rows jsonb not null default '{}');             -- deleted so far, by table
create index deletions_name on tk.deletions (name, requested_at);
grant select, insert on tk.deletions to tk_admin;
grant select, update on tk.deletions to tk_sweep;

do $$
declare v_table text;
begin
  for v_table in
    select c.relname from pg_class c join pg_namespace s on s.oid = c.relnamespace
    where s.nspname = 'tk' and c.relkind = 'r' and (c.relname = 'tenants'
      or exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped))
  loop
    execute format('grant select, delete on tk.%I to tk_sweep', v_table);
    if not exists (select 1 from pg_policies p where p.schemaname = 'tk' and p.tablename = v_table and p.policyname = 'sweep') then
      execute format('create policy sweep on tk.%I to tk_sweep using (true) with check (true)', v_table);
    end if;
  end loop;
end $$;

-- delete_tenant_step: at most p_batch rows of one table of one tenant; no row when there is nothing to do. It begins
-- p_wait_ms after it was asked for, when no node takes the tenant for active any more, and not while a turn runs: a
-- commit would bring rows back. Every table with a tenant_id is emptied, those that others refer to last; then the tenant
-- goes and the receipt is closed.
create function tk.delete_tenant_step(p_batch int, p_wait_ms double precision)
returns table (tenant_id uuid, table_name text, deleted bigint) language plpgsql volatile security invoker as $f$
declare
  v_last constant text[] := array['lanes', 'account_versions', 'accounts', 'agent_versions', 'agents', 'apps', 'api_keys'];
  v_tenant uuid;
  v_table text;
  v_rows bigint;
begin
  select d.id into v_tenant from tk.deletions d
    where d.finished_at is null and d.requested_at < clock_timestamp() - p_wait_ms * interval '1 millisecond'
      and not exists (select 1 from tk.lanes z where z.tenant_id = d.id and z.turn_id is not null)
    order by d.requested_at limit 1 for update skip locked;
  if v_tenant is null then return; end if;
  for v_table in
    select c.relname from pg_class c join pg_namespace s on s.oid = c.relnamespace
    where s.nspname = 'tk' and c.relkind = 'r'
      and exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)
    order by coalesce(array_position(v_last, c.relname::text), 0), c.relname = 'sessions', c.relname
  loop
    execute format('with k as (select ctid c from tk.%I where tenant_id = $1 limit $2) delete from tk.%I t using k where t.ctid = k.c', v_table, v_table)
      using v_tenant, p_batch;
    get diagnostics v_rows = row_count;
    if v_rows > 0 then
      update tk.deletions d set rows = d.rows || jsonb_build_object(v_table, coalesce((d.rows ->> v_table)::bigint, 0) + v_rows) where d.id = v_tenant;
      return query select v_tenant, v_table, v_rows;
      return;
    end if;
  end loop;
  delete from tk.tenants t where t.id = v_tenant;
  update tk.deletions d set finished_at = clock_timestamp(), rows = d.rows || '{"tenants": 1}' where d.id = v_tenant;
  return query select v_tenant, 'tenants', 1::bigint;
end $f$;

revoke all on function tk.delete_tenant_step from public;
grant execute on function tk.delete_tenant_step to tk_sweep;
