-- outbound: as in 0040, and bounded. A conversation whose receiver takes nothing would else be given messages without end:
-- with p_cap of them undelivered the next one is refused (`full`), and its key is free again.
-- Beside the function of 0040, which nodes of the version before still call.
create function tk.outbound(
  p_tenant uuid, p_slot smallint, p_lane uuid, p_session uuid, p_new uuid, p_message uuid, p_role text, p_body jsonb, p_account uuid,
  p_scope uuid, p_key text, p_hash bytea, p_cap int)
returns table (result text, message_id uuid, seq bigint, session_id uuid, at timestamptz, dstate smallint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_lane tk.lanes;
  v_first tk.dedupe_keys;
  v_status text;
  v_fresh boolean;
  v_now timestamptz;
  v_dstate smallint := case when p_account is null then 2 else 0 end;
  v_full boolean := false;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  insert into tk.dedupe_keys (tenant_id, scope, key, body_hash, event_id, slot, lane_id) values (p_tenant, p_scope, p_key, p_hash, p_message, p_slot, p_lane)
    on conflict do nothing;
  if not found then
    select d.* into v_first from tk.dedupe_keys d where d.tenant_id = p_tenant and d.scope = p_scope and d.key = p_key;
    return query
      select case when v_first.body_hash = p_hash then 'duplicate' else 'mismatch' end, v_first.event_id, m.seq, m.session_id, m.at, m.dstate
      from (select 1) one left join lateral (select m.* from tk.messages m where m.tenant_id = p_tenant and m.id = v_first.event_id limit 1) m on true;
    return;
  end if;
  select z.* into v_lane from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane for no key update;
  if v_dstate = 0 and v_lane.id is not null then
    select count(*) >= p_cap into v_full from (
      select 1 from tk.messages m
      where m.slot = p_slot and m.tenant_id = p_tenant and m.lane_id = p_lane and m.dstate in (0, 1, 4) limit p_cap) owed;
  end if;
  if v_lane.id is null or p_session is not null and v_lane.session_id is distinct from p_session or v_full then
    delete from tk.dedupe_keys d where d.tenant_id = p_tenant and d.scope = p_scope and d.key = p_key;
    return query select case when v_lane.id is null then 'missing' when v_full then 'full' else 'past' end,
      null::uuid, null::bigint, null::uuid, null::timestamptz, null::smallint;
    return;
  end if;
  if v_lane.session_id is not null then
    select s.status into v_status from tk.sessions s where s.slot = p_slot and s.tenant_id = p_tenant and s.id = v_lane.session_id;
  end if;
  v_fresh := v_lane.session_id is null or v_status = 'archived';
  if v_fresh then
    insert into tk.sessions (slot, tenant_id, id, lane_id, previous_id, started_reason) values (p_slot, p_tenant, p_new, p_lane, v_lane.session_id, 'outbound');
  end if;
  update tk.lanes z set seq = z.seq + 1, session_id = case when v_fresh then p_new else z.session_id end, suspended = z.suspended and not v_fresh
    where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane returning z.* into v_lane;
  v_now := clock_timestamp();
  insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body, at, account_id, dstate, dattempt, dref, dat)
    values (p_slot, p_tenant, p_lane, v_lane.seq, 0, p_message, v_lane.session_id, v_lane.fence, p_role, p_body, v_now, p_account,
            v_dstate, case when v_dstate = 0 then 0 end, case when v_dstate = 2 then 'run' end, case when v_dstate = 2 then v_now end);
  return query select 'sent', p_message, v_lane.seq, v_lane.session_id, v_now, v_dstate;
end $f$;

revoke all on function tk.outbound(uuid, smallint, uuid, uuid, uuid, uuid, text, jsonb, uuid, uuid, text, bytea, int) from public;
grant execute on function tk.outbound(uuid, smallint, uuid, uuid, uuid, uuid, text, jsonb, uuid, uuid, text, bytea, int) to tk_engine;
