-- Control of a lane, in parts that each say one thing; as in 0040 but for these: a question that a command withdraws gives its
-- tool call a result, and the words of an erased conversation go in steps, because one statement over a conversation of a
-- year would pass its time limit and erase nothing.

-- What is still to be erased: events up to this ord, messages up to this seq; null: nothing
alter table tk.lanes add column erase_ord bigint, add column erase_seq bigint;
create index lanes_erasing on tk.lanes (slot, tenant_id, id) where erase_ord is not null or erase_seq is not null;

-- control_refusal: why the command changes nothing; null: it may. Part of control, under the lane's lock.
create function tk.control_refusal(p_lane tk.lanes, p_session uuid, p_command text, p_label text) returns text
language plpgsql stable security invoker as $f$
declare
  v_status text;
begin
  if p_lane.id is null then return 'missing'; end if;
  if p_session is not null and p_lane.session_id is distinct from p_session then return 'past'; end if;
  if p_command in ('archive', 'erase') and (p_lane.turn_id is not null or p_lane.resume_of is not null or p_lane.waits_for is not null) then
    return 'lane_busy';
  end if;
  if p_command = 'erase' and (
      exists (select 1 from tk.events e where e.slot = p_lane.slot and e.tenant_id = p_lane.tenant_id and e.lane_id = p_lane.id and e.state < 10)
      or exists (select 1 from tk.messages m where m.slot = p_lane.slot and m.tenant_id = p_lane.tenant_id and m.lane_id = p_lane.id
                 and m.dstate in (0, 1, 4) and not (m.dstate = 4 and m.drecovered))) then
    return 'lane_busy';
  end if;
  if p_command in ('resume', 'archive') and p_lane.session_id is not null then
    select s.status into v_status from tk.sessions s where s.slot = p_lane.slot and s.tenant_id = p_lane.tenant_id and s.id = p_lane.session_id;
  end if;
  return case p_command
    when 'pause' then case when p_lane.paused then 'same' end
    when 'unpause' then case when not p_lane.paused then 'same' end
    when 'suspend' then case when p_lane.suspended then 'same' end
    when 'resume' then case when v_status = 'archived' then 'past' when not p_lane.suspended then 'same' end
    when 'archive' then case when p_lane.session_id is null then 'no_session' when v_status = 'archived' then 'same' end
    when 'label' then case
      when p_lane.label is not distinct from p_label then 'same'
      when exists (select 1 from tk.lanes z where z.tenant_id = p_lane.tenant_id and z.agent_id = p_lane.agent_id and z.label = p_label and z.id <> p_lane.id)
        then 'label_in_use' end
    end;
end $f$;

-- control_ends: the events that the command ends. stop: those of the turn, and the first waiting one if it is a person's;
-- reset: all but wakes; suspend: the resume that is owed goes with the session
create function tk.control_ends(p_lane tk.lanes, p_command text) returns bigint[]
language sql stable security invoker as $f$
  select array_agg(e.ord) from (
    select e.ord, e.kind, e.state, e.state > 0 or p_lane.turn_id is not null and e.ord = any (p_lane.turn_ords) taken,
           row_number() over (partition by e.state = 0 and not (p_lane.turn_id is not null and e.ord = any (p_lane.turn_ords)) order by e.ord) nth
    from tk.events e where e.slot = p_lane.slot and e.tenant_id = p_lane.tenant_id and e.lane_id = p_lane.id and e.state < 10) e
  where case
    when p_command in ('stop', 'reset') then e.taken or e.kind <> 2 and (p_command = 'reset' or e.nth = 1)
    when p_command = 'suspend' then e.state = 1 and p_lane.turn_id is null
    else false end
$f$;

-- control_mark: what the command leaves for streams; nothing for stop, whose turn and runs tell it
create function tk.control_mark(p_lane tk.lanes, p_command text, p_label text, out kind text, out body jsonb)
language sql immutable security invoker as $f$
  select case
      when p_command in ('pause', 'unpause', 'label') then 'session.updated'
      when p_command <> 'stop' then 'session.' || case p_command
        when 'reset' then 'reset' when 'suspend' then 'suspended' when 'resume' then 'resumed' when 'archive' then 'archived' when 'erase' then 'erased' end
    end,
    case
      when p_command in ('pause', 'unpause') then jsonb_build_object('paused', p_command = 'pause')
      when p_command = 'label' then jsonb_build_object('label', p_label)
      when p_command = 'reset' then jsonb_build_object('previousSessionId', p_lane.session_id, 'reason', 'command')
      else jsonb_build_object('reason', 'command') end
$f$;

-- withdraw_question: the question that the lane waits for ends with what asked it
create function tk.withdraw_question(p_lane tk.lanes, p_seq bigint) returns void
language plpgsql volatile security invoker as $f$
declare
  v_input tk.inputs;
begin
  update tk.inputs i set state = 'cancelled', resolved_at = clock_timestamp()
    where i.slot = p_lane.slot and i.tenant_id = p_lane.tenant_id and i.id = p_lane.waits_for and i.state = 'open' returning i.* into v_input;
  if found then
    p_lane.seq := p_seq;
    perform tk.resolved_input(v_input, p_lane, 1::smallint, 'command');
  end if;
end $f$;

-- erase_step: the words of some rows of an erased lane go, newest first; the rows stay, for what the promises are judged by.
-- True when none is left. Whoever erased goes on until then; should it die, the leader does.
create function tk.erase_step(p_tenant uuid, p_slot smallint, p_lane uuid, p_limit int) returns boolean
language plpgsql volatile security invoker as $f$
declare
  v_lane tk.lanes;
  v_ord bigint;
  v_seq bigint;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  select z.* into v_lane from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane for no key update;
  with k as materialized (
    select e.ctid c, e.ord from tk.events e
    where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord <= v_lane.erase_ord order by e.ord desc limit p_limit),
  up as (
    update tk.events e set body = '{"text": ""}', error = case when e.error is not null then jsonb_build_object('code', e.error -> 'code') end
    from k where e.ctid = k.c)
  select case when count(*) = p_limit then min(k.ord) - 1 end into v_ord from k;
  with k as materialized (
    select m.ctid c, m.seq from tk.messages m
    where m.slot = p_slot and m.tenant_id = p_tenant and m.lane_id = p_lane and m.seq <= v_lane.erase_seq
    order by m.seq desc fetch first p_limit rows with ties),
  up as (
    update tk.messages m set body = '{"text": ""}' from k where m.ctid = k.c)
  select case when count(*) >= p_limit then min(k.seq) - 1 end into v_seq from k;
  update tk.lanes z set erase_ord = v_ord, erase_seq = v_seq
    where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane and (z.erase_ord is not null or z.erase_seq is not null);
  return v_ord is null and v_seq is null;
end $f$;

-- erase_words: what an erased lane holds beside its events and messages, and where those begin that are to be erased
create function tk.erase_words(p_lane tk.lanes, p_seq bigint) returns void
language plpgsql volatile security invoker as $f$
begin
  update tk.lane_marks k set body = k.body - '{prompt,options,label}'::text[]
    where k.slot = p_lane.slot and k.tenant_id = p_lane.tenant_id and k.lane_id = p_lane.id and k.body ?| '{prompt,options,label}';
  update tk.inputs i set prompt = '{}', answer = null where i.slot = p_lane.slot and i.tenant_id = p_lane.tenant_id and i.lane_id = p_lane.id;
  delete from tk.sessions s where s.slot = p_lane.slot and s.tenant_id = p_lane.tenant_id and s.lane_id = p_lane.id;
  update tk.lanes z set erase_seq = p_seq, erase_ord = (
      select e.ord from tk.events e where e.slot = p_lane.slot and e.tenant_id = p_lane.tenant_id and e.lane_id = p_lane.id order by e.ord desc limit 1)
    where z.slot = p_lane.slot and z.tenant_id = p_lane.tenant_id and z.id = p_lane.id;
end $f$;

-- erase_pending: a step for each of some lanes whose erasing was left behind; returns the lanes that have more
create function tk.erase_pending(p_lanes int, p_limit int) returns table (lane_id uuid)
language plpgsql volatile security invoker as $f$
begin
  return query
    select q.id from (
      select z.slot, z.tenant_id, z.id from tk.lanes z where z.erase_ord is not null or z.erase_seq is not null
      order by z.slot, z.tenant_id, z.id limit p_lanes) q
    where not tk.erase_step(q.tenant_id, q.slot, q.id, p_limit);
end $f$;

-- control: stop | reset | pause | unpause | suspend | resume | archive | label | erase, on the lane whose session is p_session
-- (null: whichever it has). stop and reset fence a running turn off, so that what it still writes is refused; the others
-- leave it alone, and with it the fence. After erase: erase_step until it is done. Answers
--   done            p_turn was running and is to be told; `ended` are the runs that were discarded
--   same            it was so already: nothing was written
--   duplicate       this key came before with this body; mismatch: with another. Only reset makes something, so only it has a key
--   nothing_to_stop | lane_busy (a turn runs or is owed, or deliveries are) | label_in_use | past (not the lane's session any
--   more) | no_session | missing: nothing was written
create or replace function tk.control(p_tenant uuid, p_slot smallint, p_lane uuid, p_session uuid, p_command text, p_new uuid, p_label text,
  p_scope uuid, p_key text, p_hash bytea)
returns table (result text, seq bigint, turn_id uuid, session_id uuid, ended uuid[], at timestamptz)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid;
  v_lane tk.lanes;                               -- as it was
  v_now timestamptz;
  v_ords bigint[];
  v_ended uuid[] := '{}';
  v_turn uuid;
  v_seq bigint;
  v_session uuid;
  v_answer text;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  if p_key is not null then
    insert into tk.dedupe_keys (tenant_id, scope, key, body_hash, event_id, slot, lane_id) values (p_tenant, p_scope, p_key, p_hash, p_new, p_slot, p_lane)
      on conflict do nothing;
    if not found then
      return query
        select case when d.body_hash = p_hash then 'duplicate' else 'mismatch' end, null::bigint, null::uuid, d.event_id, '{}'::uuid[], d.at
        from tk.dedupe_keys d where d.tenant_id = p_tenant and d.scope = p_scope and d.key = p_key;
      return;
    end if;
  end if;
  if p_command = 'label' and p_label is not null then   -- two lanes that ask for one label at once: one after the other
    perform pg_advisory_xact_lock(hashtextextended(p_tenant::text || p_label, 0));
  end if;
  select z.ctid into v_c from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane for no key update;
  select z.* into v_lane from tk.lanes z where z.ctid = v_c;
  v_now := clock_timestamp();
  v_answer := tk.control_refusal(v_lane, p_session, p_command, p_label);
  if v_answer is null then
    v_ords := tk.control_ends(v_lane, p_command);
    if v_ords is null and p_command = 'stop' then
      v_answer := 'nothing_to_stop';
    end if;
  end if;
  if v_answer is not null then
    delete from tk.dedupe_keys d where d.tenant_id = p_tenant and d.scope = p_scope and d.key = p_key;   -- nothing was made
    return query select v_answer, v_lane.seq, null::uuid, v_lane.session_id, '{}'::uuid[], v_now;
    return;
  end if;

  -- the running turn, if the command ends it, then the lane, then the rest: all under one seq
  if p_command in ('stop', 'reset') and v_lane.turn_id is not null then
    v_turn := v_lane.turn_id;
    select array_agg(e.id order by e.ord) into v_ended from tk.events e
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = any (v_lane.turn_ords) and e.state < 10;
    perform 1 from tk.end_turns(array[v_c], array[5::smallint], array[18::smallint], array[null::jsonb], array[null::uuid], array[null::text],
                                array[v_lane.resumes], array[v_lane.suspended]);
    select z.seq into v_seq from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane;
  else
    update tk.lanes z set seq = z.seq + 1, fence = z.fence + (p_command in ('stop', 'reset'))::int where z.ctid = v_c returning z.seq into v_seq;
  end if;
  if v_ords is not null then
    with e as (
      update tk.events e set state = 18, end_seq = v_seq, settled_at = v_now
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = any (v_ords) and e.state < 10 returning e.id)
    select v_ended || coalesce(array_agg(e.id), '{}') into v_ended from e;
  end if;
  if p_command in ('stop', 'reset') and v_lane.waits_for is not null then
    perform tk.withdraw_question(v_lane, v_seq);
  end if;
  if p_command in ('reset', 'archive') and v_lane.session_id is not null then
    update tk.sessions s set status = 'archived', ended_at = now() where s.slot = p_slot and s.tenant_id = p_tenant and s.id = v_lane.session_id and s.ended_at is null;
  end if;
  if p_command = 'reset' then
    insert into tk.sessions (slot, tenant_id, id, lane_id, previous_id, started_reason) values (p_slot, p_tenant, p_new, p_lane, v_lane.session_id, 'reset');
  elsif p_command = 'erase' then
    perform tk.erase_words(v_lane, v_seq);
  end if;
  update tk.lanes z
    set session_id = case p_command when 'reset' then p_new when 'erase' then null else z.session_id end,
        suspended = case when p_command in ('suspend', 'archive') then true when p_command in ('resume', 'reset', 'erase') then false else z.suspended end,
        paused = case p_command when 'pause' then true when 'unpause' then false else z.paused end,
        resumes = case when p_command in ('reset', 'erase') then 0 else z.resumes end,
        resume_pending = case when p_command in ('reset', 'erase', 'suspend') then null else z.resume_pending end,
        resume_of = case when p_command in ('stop', 'reset', 'suspend') then null else z.resume_of end,
        waits_for = case when p_command in ('stop', 'reset') then null else z.waits_for end,
        label = case p_command when 'label' then p_label when 'erase' then null else z.label end,
        source = case p_command when 'erase' then z.source - 'userName' - 'chatName' else z.source end,
        erased = p_command = 'erase' or z.erased
    where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane
    returning z.session_id into v_session;
  insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
    select p_slot, p_tenant, p_lane, v_seq, m.kind, v_session, m.body from tk.control_mark(v_lane, p_command, p_label) m where m.kind is not null;
  return query select 'done', v_seq, v_turn, v_session, v_ended, v_now;
end $f$;

-- cancel: as in 0041, with the result of a withdrawn question
create or replace function tk.cancel(p_tenant uuid, p_event uuid)
returns table (result text, turn_id uuid, slot smallint, lane_id uuid) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_event record;
  v_c tid;
  v_lane tk.lanes;
  v_state smallint;
  v_seq bigint;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  select e.slot, e.lane_id, e.ord into v_event from tk.events e where e.id = p_event and e.tenant_id = p_tenant limit 1;
  if found then
    select z.ctid into v_c from tk.lanes z where z.slot = v_event.slot and z.tenant_id = p_tenant and z.id = v_event.lane_id for no key update;
    -- only now: what is read before the lock may have changed while waiting for it
    select z.* into v_lane from tk.lanes z where z.ctid = v_c;
    select e.state into v_state from tk.events e where e.slot = v_event.slot and e.tenant_id = p_tenant and e.lane_id = v_event.lane_id and e.ord = v_event.ord;
  end if;
  if v_state is null then
    return query select 'missing', null::uuid, null::smallint, null::uuid;
  elsif v_state >= 10 then
    return query select 'final', null::uuid, null::smallint, null::uuid;
  elsif v_lane.turn_id is not null and v_event.ord = any (v_lane.turn_ords) then
    return query select 'cancelled', x.turn_id, x.slot, x.lane_id
      from tk.end_turns(array[v_c], array[9::smallint], array[14::smallint], array[null::jsonb], array[null::uuid], array[null::text],
                        array[v_lane.resumes], array[v_lane.suspended]) x;
  else
    update tk.lanes z set seq = z.seq + 1, resume_of = case v_state when 1 then null else z.resume_of end,
        waits_for = case v_state when 2 then null else z.waits_for end
      where z.ctid = v_c returning z.seq into v_seq;
    update tk.events e set state = 14, end_seq = v_seq, settled_at = clock_timestamp()
      where e.slot = v_event.slot and e.tenant_id = p_tenant and e.lane_id = v_event.lane_id
        and e.state < 10 and e.state = v_state and (v_state in (1, 2) or e.ord = v_event.ord);
    if v_state = 2 then
      perform tk.withdraw_question(v_lane, v_seq);
    end if;
    return query select 'cancelled', null::uuid, v_event.slot, v_event.lane_id;
  end if;
end $f$;

revoke all on function tk.control_refusal, tk.control_ends, tk.control_mark, tk.withdraw_question, tk.erase_step, tk.erase_words, tk.erase_pending from public;
grant execute on function tk.control_refusal, tk.control_ends, tk.control_mark, tk.withdraw_question, tk.erase_step, tk.erase_words to tk_engine;
grant execute on function tk.erase_step, tk.erase_pending to tk_sweep;
