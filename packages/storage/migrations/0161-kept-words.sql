-- What was said and stands in no turn's reply: a person's answer to a question, and what a turn had said when somebody stopped
-- it. Both are rows of the transcript, for people: streams and histories have them, models do not (an answer is the result of
-- its call there, and a stopped turn never was).

-- keep_words: what a stopped or cancelled turn had said so far, once. Its fence is void, so this is no write of the turn: it is
-- a message without a turn, written as `outbound` writes one, only where the turn's row says that somebody ended it and its
-- session is still there. Its seq; no row: nothing was kept, or it was kept before.
create function tk.keep_words(p_tenant uuid, p_slot smallint, p_lane uuid, p_turn uuid, p_message uuid, p_text jsonb)
returns table (seq bigint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_lane tk.lanes;
  v_session uuid;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  perform 1 from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane for no key update;
  -- of two tries of one call the second waits for the lane and finds what the first one wrote
  select t.session_id into v_session from tk.turns t
    where t.id = p_turn and t.slot = p_slot and t.tenant_id = p_tenant and t.lane_id = p_lane and t.state in (5, 9)
      and exists (select 1 from tk.sessions s where s.slot = p_slot and s.tenant_id = p_tenant and s.id = t.session_id)
      and not exists (select 1 from tk.messages m where m.tenant_id = p_tenant and m.id = p_message)
    limit 1;
  if v_session is null then
    return;
  end if;
  update tk.lanes z set seq = z.seq + 1 where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane returning z.* into v_lane;
  insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body)
    values (p_slot, p_tenant, p_lane, v_lane.seq, 0, p_message, v_session, v_lane.fence, 'assistant',
            jsonb_build_object('text', p_text, 'cut', true, 'turnId', p_turn));
  return query select v_lane.seq;
end $f$;

-- resolved_input: as in 0086, and the answer of a person
create or replace function tk.resolved_input(p_input tk.inputs, p_lane tk.lanes, p_n smallint, p_by text) returns void
language plpgsql volatile security invoker as $f$
begin
  insert into tk.lane_marks (slot, tenant_id, lane_id, seq, n, kind, session_id, body)
    values (p_lane.slot, p_lane.tenant_id, p_lane.id, p_lane.seq, p_n, 'input.resolved', p_lane.session_id,
            jsonb_build_object('inputId', p_input.id, 'outcome', p_input.state, 'by', p_by));
  if p_input.call is not null and p_lane.session_id is not null then
    -- no turn's: it is written when none runs
    insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body)
      values (p_lane.slot, p_lane.tenant_id, p_lane.id, p_lane.seq, 0, tk.new_id(), p_lane.session_id, p_lane.fence, 'tool_result',
              jsonb_build_object('callId', p_input.call -> 'id', 'name', p_input.call -> 'name', 'text', coalesce(p_input.answer ->> 'text', p_input.state)));
  end if;
  if p_input.state = 'answered' and p_lane.session_id is not null then
    insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, fence, role, body)
      values (p_lane.slot, p_lane.tenant_id, p_lane.id, p_lane.seq, 1, tk.new_id(), p_lane.session_id, p_lane.fence, 'user',
              jsonb_build_object('text', p_input.answer -> 'text', 'inputId', p_input.id));
  end if;
end $f$;

-- changed_messages: as in 0111, and what people answered
create or replace function tk.changed_messages(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[], p_limit int, p_bytes bigint)
returns table (i int, id uuid, seq bigint, n smallint, role text, session_id uuid, turn_id uuid, run_id uuid, body jsonb, at timestamptz, cut boolean)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select x.o::int, x.id, x.seq, x.n, x.role, x.session_id, x.turn_id, x.run_id, case when x.fits then x.body end, x.at, not x.fits
    from (
      select q.o, m.*, coalesce(sum(tk.body_bytes(m.body)) over (
          partition by q.o order by m.seq range between unbounded preceding and current row exclude group), 0) < p_bytes fits
      from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
      cross join lateral (
        select m.* from tk.messages m
        where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq > q.a and m.seq <= q.u and m.role in ('assistant', 'notice', 'user')
        order by m.seq fetch first p_limit rows with ties) m) x
    order by x.o, x.seq, x.n;
end $f$;

revoke all on function tk.keep_words from public;
grant execute on function tk.keep_words to tk_engine;
