-- Questions of models: a model asks by a tool call, so the call is stored in the transaction that asks, and its result in the
-- one that resolves the question. Whatever dies between, the transcript holds the call with at most one result (P11).
-- Functions whose answers grew have new names, beside those of 0041, which nodes of the version before still call.

alter table tk.inputs add column call jsonb;      -- {id, name} of the tool call that asked; null: the agent asked without one
create index inputs_lane on tk.inputs (slot, tenant_id, lane_id);
-- of two indexes that look as cheap the newer is taken, and this one finds the row
alter table tk.inputs drop constraint inputs_pkey, add primary key (slot, tenant_id, id);

-- ask_person: as tk.ask of 0041. p_step and p_call: id and body of the transcript's tool_call entry, null for agents without tools.
create function tk.ask_person(
  p_tenant uuid, p_slot smallint, p_lane uuid, p_fence bigint, p_turn uuid, p_input uuid, p_message uuid, p_kind text, p_prompt jsonb, p_wait_ms double precision,
  p_step uuid, p_call jsonb, p_call_body jsonb)
returns table (result text, seq bigint, expires_at timestamptz) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_lane record;
  v_end record;
  v_expires timestamptz := clock_timestamp() + p_wait_ms * interval '1 millisecond';
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  select z.ctid c, z.resumes, z.suspended into v_lane from tk.lanes z
    where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane and z.fence = p_fence and z.turn_id = p_turn for no key update;
  if not found then
    return query
      select case when i.id is null then 'stale' else 'again' end, t.end_seq, i.expires_at
      from (select 1) one
      left join lateral (
        select i.id, i.expires_at from tk.inputs i
        where i.slot = p_slot and i.tenant_id = p_tenant and i.lane_id = p_lane and i.turn_id = p_turn limit 1) i on true
      left join lateral (select t.end_seq from tk.turns t where t.id = p_turn limit 1) t on true;
    return;
  end if;
  select x.* into v_end from tk.end_turns(array[v_lane.c], array[8::smallint], array[2::smallint], array[null::jsonb], array[null::uuid], array[null::text],
                                          array[v_lane.resumes], array[v_lane.suspended]) x;
  insert into tk.inputs (slot, tenant_id, id, lane_id, turn_id, kind, prompt, expires_at, created_at, call)
    values (p_slot, p_tenant, p_input, p_lane, p_turn, p_kind, p_prompt, v_expires, clock_timestamp(), p_call);
  update tk.lanes z set waits_for = p_input where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane;
  if p_call is not null then
    insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, run_id, fence, role, body)
      values (p_slot, p_tenant, p_lane, v_end.seq, 0, p_step, v_end.session_id, p_turn, v_end.run_id, p_fence, 'tool_call', p_call_body);
  end if;
  insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, run_id, fence, role, body, account_id, dstate, dattempt, dref, dat, traceparent)
    values (p_slot, p_tenant, p_lane, v_end.seq, 1, p_message, v_end.session_id, p_turn, v_end.run_id, v_end.fence, 'notice',
            jsonb_build_object('code', 'input_required', 'text', p_prompt -> 'text'), v_end.account_id,
            case when v_end.account_id is null then 2 else 0 end, case when v_end.account_id is not null then 0 end,
            case when v_end.account_id is null then 'run' end, case when v_end.account_id is null then now() end, v_end.traceparent);
  insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
    values (p_slot, p_tenant, p_lane, v_end.seq, 'input.required', v_end.session_id,
            jsonb_build_object('inputId', p_input, 'kind', p_kind, 'prompt', p_prompt -> 'text', 'options', p_prompt -> 'options', 'expiresAt', v_expires));
  return query select 'ok', v_end.seq, v_expires;
end $f$;

-- resolved_input: what every end of a question leaves in its lane: the mark, and the result of the call that asked
create function tk.resolved_input(p_input tk.inputs, p_lane tk.lanes, p_n smallint, p_by text) returns void
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
end $f$;

-- resolve_input: as in 0041, with the call's result
create or replace function tk.resolve_input(p_slot smallint, p_tenant uuid, p_input uuid, p_lane uuid, p_outcome text, p_answer jsonb, p_by text)
returns boolean language plpgsql volatile security invoker as $f$
declare
  v_input tk.inputs;
  v_lane tk.lanes;
begin
  perform 1 from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane for no key update;
  update tk.inputs i set state = p_outcome, answer = p_answer, resolved_at = clock_timestamp()
    where i.slot = p_slot and i.tenant_id = p_tenant and i.id = p_input and i.state = 'open'
      and (p_outcome = 'expired') = (i.expires_at <= clock_timestamp())
    returning i.* into v_input;
  if not found then
    return false;
  end if;
  update tk.lanes z set waits_for = null, resume_of = v_input.turn_id, seq = z.seq + 1
    where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane and z.waits_for = p_input returning z.* into v_lane;
  update tk.events e set state = 1 where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10 and e.state = 2;
  perform tk.resolved_input(v_input, v_lane, 0::smallint, p_by);
  return true;
end $f$;

-- answer_question: answered | closed (answered before, expired, withdrawn) | missing. As tk.answer_input of 0041, with the
-- seq of the answer and the lane's key, for readers
create function tk.answer_question(p_tenant uuid, p_input uuid, p_answer jsonb)
returns table (result text, slot smallint, lane_id uuid, seq bigint, key text) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_input record;
  v_done boolean;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  select i.slot, i.lane_id into v_input from tk.inputs i where i.id = p_input and i.tenant_id = p_tenant;
  if not found then
    return query select 'missing', null::smallint, null::uuid, null::bigint, null::text;
    return;
  end if;
  v_done := tk.resolve_input(v_input.slot, p_tenant, p_input, v_input.lane_id, 'answered', p_answer, 'api');
  return query
    select case when v_done then 'answered' else 'closed' end, z.slot, z.id, z.seq, z.key
    from (select 1) one
    left join lateral (select z.* from tk.lanes z where z.slot = v_input.slot and z.tenant_id = p_tenant and z.id = v_input.lane_id limit 1) z on true;
end $f$;

-- question_of: what the turn asked that this one goes on from, also when it was interrupted since; with the seq of the first
-- claim of all these turns (what the lane holds from there on is theirs) and how often they asked
create function tk.question_of(p_tenant uuid, p_slot smallint, p_lane uuid, p_turn uuid)
returns table (state text, answer jsonb, since_seq bigint, asked bigint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query
    with recursive t as (
      -- by id alone: with its lane beside it, every turn of the lane would be read
      (select t.id, t.resume_of, t.seq, 1 depth from tk.turns t where t.id = p_turn limit 1)
      union all
      select y.id, y.resume_of, y.seq, t.depth + 1 from t
      cross join lateral (select y.id, y.resume_of, y.seq from tk.turns y where y.id = t.resume_of limit 1) y
      where t.depth < 200),
    q as (
      select i.state, i.answer, t.depth from t
      cross join lateral (select i.* from tk.inputs i where i.slot = p_slot and i.tenant_id = p_tenant and i.lane_id = p_lane and i.turn_id = t.id limit 1) i)
    select q.state, q.answer, (select min(t.seq) from t), (select count(*) from q) from q order by q.depth limit 1;
end $f$;

revoke all on function tk.ask_person, tk.resolved_input, tk.answer_question, tk.question_of from public;
grant execute on function tk.ask_person, tk.answer_question, tk.question_of, tk.resolved_input, tk.new_id to tk_engine;
grant execute on function tk.resolved_input to tk_sweep;
grant select on tk.inputs to tk_api;
