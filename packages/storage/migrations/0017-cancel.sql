-- cancel: ends one run. Queued: it alone. Running: its turn is fenced off and every event of it ends. Waiting for its
-- resume: the resume is dropped with the events it was for. cancelled | final | missing.
create function tk.cancel(p_tenant uuid, p_event uuid)
returns table (result text, turn_id uuid, slot smallint, lane_id uuid) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_event record;
  v_lane record;
  v_state smallint;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  select e.slot, e.lane_id, e.ord into v_event from tk.events e where e.id = p_event and e.tenant_id = p_tenant limit 1;
  if found then
    select z.ctid c, z.turn_id, z.turn_ords, z.resumes, z.suspended into v_lane
      from tk.lanes z where z.slot = v_event.slot and z.tenant_id = p_tenant and z.id = v_event.lane_id for no key update;
    -- only now: what is read before the lock may have changed while waiting for it
    select e.state into v_state from tk.events e where e.slot = v_event.slot and e.tenant_id = p_tenant and e.lane_id = v_event.lane_id and e.ord = v_event.ord;
  end if;
  if v_state is null then
    return query select 'missing', null::uuid, null::smallint, null::uuid;
  elsif v_state >= 10 then
    return query select 'final', null::uuid, null::smallint, null::uuid;
  elsif v_lane.turn_id is not null and v_event.ord = any (v_lane.turn_ords) then
    return query select 'cancelled', x.turn_id, x.slot, x.lane_id
      from tk.end_turns(array[v_lane.c], array[9::smallint], array[14::smallint], array[null::jsonb], array[null::uuid], array[null::text],
                        array[v_lane.resumes], array[v_lane.suspended]) x;
  else
    with ln as (
      update tk.lanes z set seq = z.seq + 1, resume_of = case v_state when 1 then null else z.resume_of end
      where z.ctid = v_lane.c returning z.seq)
    update tk.events e set state = 14, end_seq = ln.seq, settled_at = clock_timestamp() from ln
      where e.slot = v_event.slot and e.tenant_id = p_tenant and e.lane_id = v_event.lane_id
        and e.state < 10 and e.state = v_state and (v_state = 1 or e.ord = v_event.ord);
    return query select 'cancelled', null::uuid, v_event.slot, v_event.lane_id;
  end if;
end $f$;

revoke all on function tk.cancel from public;
grant execute on function tk.cancel to tk_engine;
