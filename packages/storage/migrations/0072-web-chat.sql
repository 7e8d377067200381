-- Web chat: a reply is offered (dstate 6) once it stands in its room's stream, where its visitor reads it, now or when it
-- comes back; `seen` proves that it did. What is offered holds up nothing that comes after it.
create index messages_offered on tk.messages (slot, tenant_id, lane_id, seq) where dstate = 6;

-- seen: everything that was offered up to this seq was read
create function tk.seen(p_tenant uuid, p_slot smallint, p_lane uuid, p_seq bigint) returns table (seen bigint)
language plpgsql volatile security invoker as $f$
declare
  v_rows bigint;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  update tk.messages m set dstate = 2, dref = 'seen', dat = clock_timestamp()
    where m.slot = p_slot and m.tenant_id = p_tenant and m.lane_id = p_lane and m.seq <= p_seq and m.dstate = 6;
  get diagnostics v_rows = row_count;
  return query select v_rows;
end $f$;

-- input_lane: where a question was asked
create function tk.input_lane(p_tenant uuid, p_input uuid) returns table (slot smallint, lane_id uuid)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query select i.slot, i.lane_id from tk.inputs i where i.id = p_input and i.tenant_id = p_tenant limit 1;
end $f$;

revoke all on function tk.seen, tk.input_lane from public;
grant execute on function tk.seen, tk.input_lane to tk_engine;
