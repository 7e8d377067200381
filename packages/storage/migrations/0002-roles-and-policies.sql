-- What each role may do. Rows: forced row-level security on every table that belongs to a tenant. Columns and tables:
-- grants, below. The roles themselves are made by the migrator, because they belong to the whole server.
--
--   tk_lookup  finds the tenant of a credential, a hook or a name; reads configuration
--   tk_api     one tenant, the one in tk.tenant
--   tk_engine  batches over the tenants listed in tk.tenants
--   tk_admin   operators
--   tk_sweep   the coordinator, and functions that look over all tenants and give out ids only

grant usage on schema tk to tk_lookup, tk_api, tk_engine, tk_admin, tk_sweep;
grant select on tk.schema_migrations to tk_lookup, tk_api, tk_engine, tk_admin, tk_sweep;

-- rows ------------------------------------------------------------------------------------------------------------

do $$
declare
  v_table text;
  v_key text;
  -- This form and no other: `in (select unnest(…))` is a hashed subplan, built once per statement and never an index
  -- condition. `= any(array)` is indexable, and the planner then walks the small partial indexes once per row.
  -- An unset or empty setting is the empty list: no rows.
  v_engine constant text := $p$%I in (select unnest(string_to_array(current_setting('tk.tenants', true), ',')::uuid[]))$p$;
  v_api constant text := $p$%I = (select nullif(current_setting('tk.tenant', true), '')::uuid)$p$;
begin
  for v_table, v_key in
    select c.relname, case c.relname when 'tenants' then 'id' else 'tenant_id' end
    from pg_class c join pg_namespace s on s.oid = c.relnamespace
    where s.nspname = 'tk' and c.relkind = 'r'
      and (c.relname = 'tenants'
        or exists (select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped))
  loop
    execute format('alter table tk.%I enable row level security', v_table);
    execute format('alter table tk.%I force row level security', v_table);
    execute format('create policy engine on tk.%I to tk_engine using (' || v_engine || ') with check (' || v_engine || ')', v_table, v_key, v_key);
    execute format('create policy api on tk.%I to tk_api using (' || v_api || ') with check (' || v_api || ')', v_table, v_key, v_key);
    execute format('create policy admin on tk.%I to tk_admin using (true) with check (true)', v_table);
  end loop;

  foreach v_table in array array['tenants', 'lanes', 'sessions', 'events', 'dedupe_keys', 'messages', 'turns', 'tenant_load'] loop
    execute format('create policy sweep on tk.%I to tk_sweep using (true) with check (true)', v_table);
  end loop;

  foreach v_table in array array['tenants', 'api_keys', 'agents', 'agent_versions', 'apps', 'accounts', 'account_versions', 'tenant_load'] loop
    execute format('create policy lookup on tk.%I to tk_lookup using (true)', v_table);
  end loop;
end $$;

-- Counts only, and every ingress needs those of all tenants.
drop policy engine on tk.tenant_load;
create policy engine on tk.tenant_load for select to tk_engine using (true);

-- tables ------------------------------------------------------------------------------------------------------------

grant select on tk.tenants, tk.api_keys, tk.operator_keys, tk.agents, tk.agent_versions, tk.apps, tk.accounts, tk.account_versions, tk.tenant_load to tk_lookup;
grant update (last_used_at) on tk.api_keys to tk_lookup;

grant select on tk.tenants, tk.api_keys, tk.agents, tk.agent_versions, tk.accounts, tk.account_versions,
  tk.lanes, tk.sessions, tk.events, tk.messages, tk.turns, tk.dedupe_keys, tk.audit to tk_api;
grant insert on tk.api_keys, tk.agents, tk.agent_versions, tk.accounts, tk.account_versions, tk.audit to tk_api;
grant update (version, updated_at, deleted_at) on tk.agents to tk_api;
grant update (agent_id, version, updated_at, deleted_at) on tk.accounts to tk_api;
grant update (expires_at, revoked_at) on tk.api_keys to tk_api;

grant select on tk.tenants, tk.agents, tk.agent_versions, tk.accounts, tk.account_versions, tk.slots, tk.tenant_load to tk_engine;
grant select, insert, update on tk.lanes, tk.sessions, tk.events, tk.messages to tk_engine;
grant select, insert on tk.dedupe_keys, tk.turns to tk_engine;
grant select, insert on tk.workers to tk_engine;
grant update (state, beat_at, ended_at, woke, stale_commits) on tk.workers to tk_engine;
grant select on tk.partitions to tk_engine;
grant update (owner, epoch, changed_at) on tk.partitions to tk_engine;

grant select on all tables in schema tk to tk_admin;
grant insert, update on tk.tenants, tk.operator_keys, tk.api_keys, tk.agents, tk.agent_versions, tk.apps, tk.accounts, tk.account_versions to tk_admin;
grant insert on tk.audit to tk_admin;

grant select on tk.tenants, tk.slots to tk_sweep;
grant select, update, delete on tk.lanes, tk.events, tk.sessions, tk.messages, tk.workers to tk_sweep;
grant select, insert, delete on tk.turns to tk_sweep;
grant select, delete on tk.dedupe_keys to tk_sweep;
grant insert on tk.messages, tk.workers to tk_sweep;
grant select on tk.partitions to tk_sweep;
grant update (owner, epoch, changed_at) on tk.partitions to tk_sweep;
grant select, insert, update, delete on tk.leases, tk.tenant_load to tk_sweep;
