-- A visitor of a shared room ends only his own work (surface, client tokens: "stop own turn"). `control` and `command` as in 0087
-- and 0135, with one word more: p_user, the sender whose work may end; null: anybody's. Under their old names they ask for null.

-- control_ends_by: what the command ends of the lane, and why it may not. stop: the events of the turn, or of what is owed or
-- waits for a person in its place, and the first waiting one if it is a person's; reset: all but wakes; suspend: the resume that
-- is owed, or the question that is open, goes with the session. Of p_user's alone: the turn counts as his when it carries a message
-- of his; a reset would end
-- everybody's, so it needs that nobody else's is there.
create function tk.control_ends_by(p_lane tk.lanes, p_command text, p_user text, out ords bigint[], out ends_work boolean, out answer text)
language sql stable security invoker as $f$
  with e as (
    select e.ord, e.kind, e.state, e.state > 0 or p_lane.turn_id is not null and e.ord = any (p_lane.turn_ords) taken,
           p_user is null or coalesce(e.body #>> '{source,userId}' = p_user, false) own
    from tk.events e where e.slot = p_lane.slot and e.tenant_id = p_lane.tenant_id and e.lane_id = p_lane.id and e.state < 10),
  n as (
    select e.*, row_number() over (partition by e.taken order by e.ord) nth, bool_or(e.taken and e.own) over () own_work,
           bool_or(not e.own and (e.taken or e.kind <> 2)) over () others
    from e),
  x as (
    select array_agg(n.ord) filter (where case
        when p_command = 'stop' then case when n.taken then n.own_work else n.kind <> 2 and n.nth = 1 and n.own end
        when p_command = 'reset' then n.taken or n.kind <> 2
        when p_command = 'suspend' then n.state in (1, 2) and p_lane.turn_id is null
        else false end) ords,
      coalesce(bool_or(n.own_work), false) own_work, coalesce(bool_or(n.others), false) others
    from n)
  select x.ords, p_command = 'reset' or p_command = 'stop' and (p_user is null or x.own_work),
    case when p_command = 'stop' and x.ords is null then 'nothing_to_stop'
         when p_command = 'reset' and x.others then 'lane_busy'
         when p_command not in ('stop', 'reset') and p_user is not null then 'lane_busy' end   -- nobody asks that
  from x
$f$;

-- control_by: `control`, of p_user's work alone where it is not null: a stop that takes away only a waiting message leaves the turn
-- and its fence, and a reset where somebody else's work is under way is answered `lane_busy`. The other answers as in 0087.
create function tk.control_by(p_tenant uuid, p_slot smallint, p_lane uuid, p_session uuid, p_command text, p_new uuid, p_label text,
  p_scope uuid, p_key text, p_hash bytea, p_user text)
returns table (result text, seq bigint, turn_id uuid, session_id uuid, ended uuid[], at timestamptz)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid;
  v_lane tk.lanes;                               -- as it was
  v_now timestamptz;
  v_ords bigint[];
  v_ends_work boolean;                           -- the turn, or what is owed or waits for a person in its place
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
    select x.ords, x.ends_work, x.answer into v_ords, v_ends_work, v_answer from tk.control_ends_by(v_lane, p_command, p_user) x;
  end if;
  if v_answer is not null then
    delete from tk.dedupe_keys d where d.tenant_id = p_tenant and d.scope = p_scope and d.key = p_key;   -- nothing was made
    return query select v_answer, v_lane.seq, null::uuid, v_lane.session_id, '{}'::uuid[], v_now;
    return;
  end if;

  -- the running turn, if the command ends it, then the lane, then the rest: all under one seq
  if v_ends_work and v_lane.turn_id is not null then
    v_turn := v_lane.turn_id;
    select array_agg(e.id order by e.ord) into v_ended from tk.events e
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = any (v_lane.turn_ords) and e.state < 10;
    perform 1 from tk.end_turns(array[v_c], array[5::smallint], array[18::smallint], array[null::jsonb], array[null::uuid], array[null::text],
                                array[v_lane.resumes], array[v_lane.suspended]);
    select z.seq into v_seq from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane;
  else
    update tk.lanes z set seq = z.seq + 1, fence = z.fence + v_ends_work::int where z.ctid = v_c returning z.seq into v_seq;
  end if;
  if v_ords is not null then
    with e as (
      update tk.events e set state = 18, end_seq = v_seq, settled_at = v_now
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = any (v_ords) and e.state < 10 returning e.id)
    select v_ended || coalesce(array_agg(e.id), '{}') into v_ended from e;
  end if;
  if (v_ends_work or p_command = 'suspend') and v_lane.waits_for is not null then
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
        resume_of = case when v_ends_work or p_command = 'suspend' then null else z.resume_of end,
        waits_for = case when v_ends_work or p_command = 'suspend' then null else z.waits_for end,
        label = case p_command when 'label' then p_label when 'erase' then null else z.label end,
        source = case p_command when 'erase' then z.source - 'userName' - 'chatName' else z.source end,
        erased = p_command = 'erase' or z.erased
    where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane
    returning z.session_id into v_session;
  insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
    select p_slot, p_tenant, p_lane, v_seq, m.kind, v_session, m.body from tk.control_mark(v_lane, p_command, p_label) m where m.kind is not null;
  return query select 'done', v_seq, v_turn, v_session, v_ended, v_now;
end $f$;

create or replace function tk.control(p_tenant uuid, p_slot smallint, p_lane uuid, p_session uuid, p_command text, p_new uuid, p_label text,
  p_scope uuid, p_key text, p_hash bytea)
returns table (result text, seq bigint, turn_id uuid, session_id uuid, ended uuid[], at timestamptz)
language sql volatile security invoker as $f$
  select * from tk.control_by(p_tenant, p_slot, p_lane, p_session, p_command, p_new, p_label, p_scope, p_key, p_hash, null)
$f$;
-- control_ends stays for calls that wait for a lane while this is applied; it is dropped one release later

-- command_by: `command`, of p_user's work alone where it is not null. A reset that would end somebody else's does nothing but to
-- say so: what follows the word is then said in the session that goes on.
create function tk.command_by(
  p_node uuid, p_slot smallint, p_tenant uuid, p_agent uuid, p_lane uuid, p_key text, p_scope uuid, p_dedupe text, p_hash bytea,
  p_event uuid, p_account uuid, p_body jsonb, p_traceparent text,
  p_command text, p_goes_on boolean, p_session uuid, p_notice uuid, p_done jsonb, p_idle jsonb, p_user text)
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
  select * into v_c from tk.control_by(p_tenant, p_slot, p_lane, null, p_command, p_session, null, null, null, null, p_user);
  if p_goes_on then
    select count(*)::int into v_ahead from tk.events e
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10;
    update tk.events e set state = 0, settled_at = null
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = v_a.ord;
  end if;
  if not p_goes_on or v_c.result <> 'done' then
    select o.seq, o.session_id into v_seq, v_session from tk.outbound(p_tenant, p_slot, p_lane, null, p_session, p_notice, 'notice',
      case v_c.result when 'done' then p_done else p_idle end, null, p_event, '#notice', p_hash, 1) o;   -- a scope of its own: no message's key can be the notice's
  end if;
  if not p_goes_on then
    update tk.events e set end_seq = v_seq, session_id = v_session
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = v_a.ord;
  end if;
  return query select 'accepted', v_ahead, v_a.ord, null::uuid, null::smallint, null::uuid,
    coalesce(v_seq, v_c.seq), v_c.turn_id, coalesce(v_session, v_c.session_id), v_c.ended, v_c.at;
end $f$;

create or replace function tk.command(
  p_node uuid, p_slot smallint, p_tenant uuid, p_agent uuid, p_lane uuid, p_key text, p_scope uuid, p_dedupe text, p_hash bytea,
  p_event uuid, p_account uuid, p_body jsonb, p_traceparent text,
  p_command text, p_goes_on boolean, p_session uuid, p_notice uuid, p_done jsonb, p_idle jsonb)
returns table (result text, ahead int, ord bigint, event_id uuid, slot smallint, lane_id uuid,
  seq bigint, turn_id uuid, session_id uuid, ended uuid[], at timestamptz)
language sql volatile security invoker as $f$
  select * from tk.command_by(p_node, p_slot, p_tenant, p_agent, p_lane, p_key, p_scope, p_dedupe, p_hash, p_event, p_account, p_body,
    p_traceparent, p_command, p_goes_on, p_session, p_notice, p_done, p_idle, null)
$f$;

revoke all on function tk.control_ends_by, tk.control_by, tk.command_by from public;
grant execute on function tk.control_ends_by, tk.control_by, tk.command_by to tk_engine;
