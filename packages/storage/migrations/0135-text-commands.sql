-- command: a command that a person typed as a message. Accepting it and what it does are one transaction (protocol H19), so
-- no accepted command is left undone: the event under its dedupe key, the effect on the lane as of `control`, and a notice
-- that says truly what came of it. p_command: stop | reset. With p_goes_on the event's text is what the person says first in
-- the fresh session: it is queued then, and is no notice. Else the event has ended `discarded`: a command is no turn.
-- Answers as `accept` does for one item; `seq` and what follows only where this call did it: of its last write, the turn that
-- was running and is to be told, the lane's session, the runs that it discarded.
create function tk.command(
  p_node uuid, p_slot smallint, p_tenant uuid, p_agent uuid, p_lane uuid, p_key text, p_scope uuid, p_dedupe text, p_hash bytea,
  p_event uuid, p_account uuid, p_body jsonb, p_traceparent text,
  p_command text, p_goes_on boolean, p_session uuid, p_notice uuid, p_done jsonb, p_idle jsonb)
returns table (result text, ahead int, ord bigint, event_id uuid, slot smallint, lane_id uuid,
  seq bigint, turn_id uuid, session_id uuid, ended uuid[], at timestamptz)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_a record;
  v_c record;
  v_ahead int := 0;
  v_seq bigint;
  v_session uuid;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  -- the lane before the dedupe key, as accept locks them
  perform 1 from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane for no key update;
  select * into v_a from tk.accept(p_tenant::text, p_node, array[p_slot], array[p_tenant], array[p_agent], array[p_lane], array[p_key], array[2147483647],
    array[p_scope], array[p_dedupe], array[p_hash], array[p_event], array[1::smallint], array[p_account], array[p_body], array[p_traceparent],
    array[18::smallint], array[null::jsonb]);
  if v_a.result <> 'accepted' or v_a.event_id is not null then   -- came before; of this very event: its answer was lost
    return query select v_a.result, v_a.ahead, v_a.ord, v_a.event_id, v_a.slot, v_a.lane_id,
      null::bigint, null::uuid, null::uuid, null::uuid[], null::timestamptz;
    return;
  end if;
  select * into v_c from tk.control(p_tenant, p_slot, p_lane, null, p_command, p_session, null, null, null, null);
  if p_goes_on then
    select count(*)::int into v_ahead from tk.events e
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10;
    update tk.events e set state = 0, settled_at = null
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = v_a.ord;
  else
    select o.seq, o.session_id into v_seq, v_session from tk.outbound(p_tenant, p_slot, p_lane, null, p_session, p_notice, 'notice',
      case v_c.result when 'done' then p_done else p_idle end, null, p_scope, p_dedupe || '#notice', p_hash, 1) o;
    update tk.events e set end_seq = v_seq, session_id = v_session
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = v_a.ord;
  end if;
  return query select 'accepted', v_ahead, v_a.ord, null::uuid, null::smallint, null::uuid,
    coalesce(v_seq, v_c.seq), v_c.turn_id, coalesce(v_session, v_c.session_id), v_c.ended, v_c.at;
end $f$;

revoke all on function tk.command from public;
grant execute on function tk.command to tk_engine;
