-- A turn that waits for a person (protocol: ask, answer, expire). The ask is a row with a deadline; until it is resolved the
-- lane runs nothing, holds nothing, and is not claimed.

create index inputs_id on tk.inputs (id);
create policy sweep on tk.inputs to tk_sweep using (true) with check (true);
grant select, update, delete on tk.inputs to tk_sweep;

-- ask: the running turn ends as `waiting`, under guard, its events wait with it. The prompt is said in the conversation, as a
-- notice: where it came by an account, it is sent. ok | again (an earlier try) | stale
create function tk.ask(
  p_tenant uuid, p_slot smallint, p_lane uuid, p_fence bigint, p_turn uuid, p_input uuid, p_message uuid, p_kind text, p_prompt jsonb, p_wait_ms double precision)
returns table (result text) language plpgsql volatile security invoker as $f$
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
    return query select case when exists (select 1 from tk.inputs i where i.slot = p_slot and i.tenant_id = p_tenant and i.turn_id = p_turn and i.lane_id = p_lane)
      then 'again' else 'stale' end;
    return;
  end if;
  select x.* into v_end from tk.end_turns(array[v_lane.c], array[8::smallint], array[2::smallint], array[null::jsonb], array[null::uuid], array[null::text],
                                          array[v_lane.resumes], array[v_lane.suspended]) x;
  insert into tk.inputs (slot, tenant_id, id, lane_id, turn_id, kind, prompt, expires_at) values (p_slot, p_tenant, p_input, p_lane, p_turn, p_kind, p_prompt, v_expires);
  update tk.lanes z set waits_for = p_input where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane;
  insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, run_id, fence, role, body, account_id, dstate, dattempt, dref, dat, traceparent)
    values (p_slot, p_tenant, p_lane, v_end.seq, 0, p_message, v_end.session_id, p_turn, v_end.run_id, v_end.fence, 'notice',
            jsonb_build_object('code', 'input_required', 'text', p_prompt -> 'text'), v_end.account_id,
            case when v_end.account_id is null then 2 else 0 end, case when v_end.account_id is not null then 0 end,
            case when v_end.account_id is null then 'run' end, case when v_end.account_id is null then now() end, v_end.traceparent);
  insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
    values (p_slot, p_tenant, p_lane, v_end.seq, 'input.required', v_end.session_id,
            jsonb_build_object('inputId', p_input, 'kind', p_kind, 'prompt', p_prompt -> 'text', 'options', p_prompt -> 'options', 'expiresAt', v_expires));
  return query select 'ok';
end $f$;

-- resolve_input: an open question is answered or expires, compare-and-set under the lane's lock; its turn is owed its going
-- on, without a strike. Part of answer_input and expire_inputs. True when this did it.
create function tk.resolve_input(p_slot smallint, p_tenant uuid, p_input uuid, p_lane uuid, p_outcome text, p_answer jsonb, p_by text)
returns boolean language plpgsql volatile security invoker as $f$
declare
  v_input tk.inputs;
  v_seq bigint;
  v_session uuid;
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
    where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane and z.waits_for = p_input returning z.seq, z.session_id into v_seq, v_session;
  update tk.events e set state = 1 where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10 and e.state = 2;
  insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
    values (p_slot, p_tenant, p_lane, v_seq, 'input.resolved', v_session, jsonb_build_object('inputId', p_input, 'outcome', p_outcome, 'by', p_by));
  return true;
end $f$;

-- answer_input: answered | closed (answered before, expired, withdrawn) | missing
create function tk.answer_input(p_tenant uuid, p_input uuid, p_answer jsonb)
returns table (result text, slot smallint, lane_id uuid) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_input record;
  v_done boolean;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  select i.slot, i.lane_id into v_input from tk.inputs i where i.id = p_input and i.tenant_id = p_tenant;
  if not found then
    return query select 'missing', null::smallint, null::uuid;
    return;
  end if;
  v_done := tk.resolve_input(v_input.slot, p_tenant, p_input, v_input.lane_id, 'answered', p_answer, 'api');
  return query select case when v_done then 'answered' else 'closed' end, v_input.slot, v_input.lane_id;
end $f$;

-- expire_inputs: questions whose time is over; at most p_limit. The leader's. Returns the lanes that go on.
create function tk.expire_inputs(p_limit int)
returns table (slot smallint, tenant_id uuid, lane_id uuid) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query
    select q.slot, q.tenant_id, q.lane_id from (
      select i.slot, i.tenant_id, i.id, i.lane_id from tk.inputs i where i.state = 'open' and i.expires_at <= clock_timestamp()
      order by i.slot, i.tenant_id, i.lane_id limit p_limit) q
    where tk.resolve_input(q.slot, q.tenant_id, q.id, q.lane_id, 'expired', null, 'clock');
end $f$;

-- input_of: what the turn asked that this one goes on from, also when it was interrupted since
create function tk.input_of(p_tenant uuid, p_slot smallint, p_lane uuid, p_turn uuid)
returns table (id uuid, kind text, prompt jsonb, state text, answer jsonb) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query
    with recursive t as (
      select t.id, t.resume_of, 1 depth from tk.turns t where t.slot = p_slot and t.tenant_id = p_tenant and t.lane_id = p_lane and t.id = p_turn
      union all
      select y.id, y.resume_of, t.depth + 1 from t
      cross join lateral (select y.id, y.resume_of from tk.turns y
        where y.slot = p_slot and y.tenant_id = p_tenant and y.lane_id = p_lane and y.id = t.resume_of limit 1) y
      where t.depth < 20)
    select i.id, i.kind, i.prompt, i.state, i.answer from t
    cross join lateral (
      select i.* from tk.inputs i where i.slot = p_slot and i.tenant_id = p_tenant and i.lane_id = p_lane and i.turn_id = t.id limit 1) i
    order by t.depth limit 1;
end $f$;

-- claim_one: as in 0012, and a turn that asked goes on with reason 4 (input); what goes on keeps its session, and with it
-- the mark of a suspension.
create or replace function tk.claim_one(p_tenants text, p_boot uuid, p_slot smallint, p_tenant uuid, p_lane uuid, p_turn uuid, p_session uuid)
returns table (
  result text, fence bigint, session_id uuid, seq bigint, agent_id uuid, key text, source jsonb, reason smallint, resume_of uuid, started_at timestamptz,
  ord bigint, event_id uuid, kind smallint, account_id uuid, attempts smallint, body jsonb, accepted_at timestamptz, traceparent text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_lane tk.lanes;
  v_ords bigint[];
  v_reason smallint;
  v_answer text;
  v_fresh boolean;
begin
  perform set_config('tk.tenants', p_tenants, true);
  select z.* into v_lane from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane for no key update skip locked;
  if not found then
    v_answer := 'skipped';
  elsif v_lane.turn_id = p_turn then
    v_ords := v_lane.turn_ords;
  elsif not exists (select 1 from tk.workers w where w.boot_id = p_boot and w.state = 0) then
    v_answer := 'not_live';
  elsif v_lane.turn_id is not null then
    v_answer := 'busy';
  elsif v_lane.paused or v_lane.waits_for is not null then
    v_answer := 'held';
  else
    if v_lane.resume_of is not null then
      v_ords := array(select e.ord from tk.events e where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10 and e.state = 1 order by e.ord);
      -- a turn that asked goes on with its answer; any other was interrupted
      v_reason := case when (select y.state = 8 from tk.turns y where y.id = v_lane.resume_of limit 1) then 4 else 1 end;
    end if;
    if coalesce(cardinality(v_ords), 0) = 0 then
      select array[e.ord], case e.kind when 2 then 2 else 0 end into v_ords, v_reason
        from tk.events e where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10 and e.state = 0 order by e.ord limit 1;
    end if;
    if v_ords is null then
      v_answer := 'empty';
    elsif exists (select 1 from tk.turns y where y.id = p_turn) then
      v_answer := 'skipped';                  -- an id names one turn
    end if;
  end if;
  if v_answer is not null then
    return query select v_answer, null::bigint, null::uuid, null::bigint, null::uuid, null::text, null::jsonb, null::smallint, null::uuid, null::timestamptz,
      null::bigint, null::uuid, null::smallint, null::uuid, null::smallint, null::jsonb, null::timestamptz, null::text;
    return;
  end if;

  if v_reason is not null then                -- not claimed before
    v_fresh := v_lane.session_id is null or v_lane.suspended and v_reason not in (1, 4);   -- what goes on, goes on where it began
    if v_fresh and v_lane.session_id is not null then
      update tk.sessions s set status = 'archived', ended_at = now() where s.slot = p_slot and s.tenant_id = p_tenant and s.id = v_lane.session_id;
    end if;
    if v_fresh then
      insert into tk.sessions (slot, tenant_id, id, lane_id, previous_id, started_reason)
        values (p_slot, p_tenant, p_session, p_lane, v_lane.session_id, case when v_lane.suspended then 'suspended' else 'first' end);
      v_lane.session_id := p_session;
    end if;
    update tk.lanes z
      set fence = z.fence + 1, seq = z.seq + 1, turn_id = p_turn, boot_id = p_boot, turn_ords = v_ords, turn_seq = z.seq + 1,
          turn_started_at = clock_timestamp(), turn_reason = v_reason, turn_resume_of = case when v_reason in (1, 4) then z.resume_of end, resume_of = null,
          session_id = v_lane.session_id, resumes = case when v_fresh then 0 else z.resumes end, suspended = z.suspended and not v_fresh,
          last_activity_at = case v_reason when 0 then now() else z.last_activity_at end
      where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane
      returning z.* into v_lane;
  end if;
  return query
    select 'claimed', v_lane.fence, v_lane.session_id, v_lane.turn_seq, v_lane.agent_id, v_lane.key, v_lane.source, v_lane.turn_reason, v_lane.turn_resume_of,
           v_lane.turn_started_at, e.ord, e.id, e.kind, e.account_id, e.attempts, e.body, e.accepted_at, e.traceparent
    from unnest(v_ords) with ordinality w(ord, o)
    cross join lateral (
      select e.* from tk.events e where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = w.ord and e.state < 10 limit 1) e
    order by w.o;
end $f$;


-- cancel: as in 0017, and a run that waits for a person is withdrawn with its question.
create or replace function tk.cancel(p_tenant uuid, p_event uuid)
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
    select z.ctid c, z.turn_id, z.turn_ords, z.resumes, z.suspended, z.waits_for into v_lane
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
      update tk.lanes z set seq = z.seq + 1, resume_of = case v_state when 1 then null else z.resume_of end,
        waits_for = case v_state when 2 then null else z.waits_for end
      where z.ctid = v_lane.c returning z.seq, z.session_id),
    mk as (
      insert into tk.lane_marks (slot, tenant_id, lane_id, seq, n, kind, session_id, body)
      select v_event.slot, p_tenant, v_event.lane_id, ln.seq, 1, 'input.resolved', ln.session_id,
             jsonb_build_object('inputId', v_lane.waits_for, 'outcome', 'cancelled', 'by', 'command')
      from ln where v_state = 2 and v_lane.waits_for is not null)
    update tk.events e set state = 14, end_seq = ln.seq, settled_at = clock_timestamp() from ln
      where e.slot = v_event.slot and e.tenant_id = p_tenant and e.lane_id = v_event.lane_id
        and e.state < 10 and e.state = v_state and (v_state in (1, 2) or e.ord = v_event.ord);
    if v_state = 2 then
      update tk.inputs i set state = 'cancelled', resolved_at = clock_timestamp()
        where i.slot = v_event.slot and i.tenant_id = p_tenant and i.id = v_lane.waits_for and i.state = 'open';
    end if;
    return query select 'cancelled', null::uuid, v_event.slot, v_event.lane_id;
  end if;
end $f$;


-- hand_back: as in 0016, and a turn that went on from an answer is owed that again.
create or replace function tk.hand_back(
  p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_fence bigint[], p_turn uuid[], p_effect boolean[], p_reason text[])
returns table (i int) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_i bigint[];
  v_c tid[];
  v_event_state smallint[];
  v_resume_of uuid[];
  v_pending text[];
  v_resumes smallint[];
  v_all int;
begin
  perform set_config('tk.tenants', p_tenants, true);
  select array_agg(q.o), array_agg(z.c),
         array_agg((case when q.ef or z.turn_reason in (1, 4) then 1 else 0 end)::smallint),
         array_agg(case when q.ef then q.n when z.turn_reason in (1, 4) then z.turn_resume_of end),
         array_agg(case when q.ef then q.re end),
         array_agg(z.resumes)
    into v_i, v_c, v_event_state, v_resume_of, v_pending, v_resumes
    from (select * from unnest(p_slot, p_tenant, p_lane, p_fence, p_turn, p_effect, p_reason) with ordinality q(s, t, l, f, n, ef, re, o) order by s, t, l) q
    cross join lateral (
      select z.ctid c, z.turn_reason, z.turn_resume_of, z.resumes from tk.lanes z
      where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.fence = q.f and z.turn_id = q.n for no key update) z;
  v_all := coalesce(cardinality(v_c), 0);
  return query select v_i[x.i]::int
    from tk.end_turns(v_c, array_fill(6::smallint, array[v_all]), v_event_state, array_fill(null::jsonb, array[v_all]), v_resume_of, v_pending, v_resumes,
                      array_fill(false, array[v_all])) x;
  return query select q.o::int
    from unnest(p_turn) with ordinality q(n, o)
    cross join lateral (select 1 from tk.turns t where t.id = q.n and t.state = 6 limit 1) t
    where v_i is null or q.o <> all (v_i);
end $f$;


create or replace function tk.delete_old_marks(p_days double precision, p_batch int) returns table (name text, rows bigint)
language plpgsql volatile security invoker as $f$
declare
  v_rows bigint;
begin
  with k as (select m.ctid c from tk.lane_marks m where m.at < now() - p_days * interval '1 day' order by m.at limit p_batch)
  delete from tk.lane_marks m using k where m.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'lane_marks', v_rows;
  with k as (
    select i.ctid c from tk.inputs i where i.id < tk.id_before(p_days) and i.state <> 'open' and i.resolved_at < now() - p_days * interval '1 day'
    order by i.id limit p_batch)
  delete from tk.inputs i using k where i.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'inputs', v_rows;
end $f$;

revoke all on function tk.ask, tk.resolve_input, tk.answer_input, tk.expire_inputs, tk.input_of from public;
grant execute on function tk.ask, tk.answer_input, tk.input_of, tk.resolve_input to tk_engine;
grant execute on function tk.expire_inputs, tk.resolve_input to tk_sweep;
