-- A conversation goes back to one of its earlier sessions: `/resume` (core: switchSession). Of the functions of 0087, 0171 and 0172
-- those that end, begin or read sessions, each with the word `switch` more; what they did for the other words they do as before.

alter table tk.sessions add column switched_at timestamptz;   -- a person went back to it, last at this time: others of its lane lie between its rows

-- control_ends_by: as in 0172; a switch ends what a reset ends
create or replace function tk.control_ends_by(p_lane tk.lanes, p_command text, p_user text, out ords bigint[], out ends_work boolean, out answer text)
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
        when p_command in ('reset', 'switch') then n.taken or n.kind <> 2
        when p_command = 'suspend' then n.state in (1, 2) and p_lane.turn_id is null
        else false end) ords,
      coalesce(bool_or(n.own_work), false) own_work, coalesce(bool_or(n.others), false) others
    from n)
  select x.ords, p_command in ('reset', 'switch') or p_command = 'stop' and (p_user is null or x.own_work),
    case when p_command = 'stop' and x.ords is null then 'nothing_to_stop'
         when p_command in ('reset', 'switch') and x.others then 'lane_busy'
         when p_command not in ('stop', 'reset', 'switch') and p_user is not null then 'lane_busy' end   -- nobody asks that
  from x
$f$;

-- control_mark: as in 0087; a switch resumes the session that it goes to
create or replace function tk.control_mark(p_lane tk.lanes, p_command text, p_label text, out kind text, out body jsonb)
language sql immutable security invoker as $f$
  select case
      when p_command in ('pause', 'unpause', 'label') then 'session.updated'
      when p_command <> 'stop' then 'session.' || case p_command
        when 'reset' then 'reset' when 'suspend' then 'suspended' when 'resume' then 'resumed' when 'switch' then 'resumed' when 'archive' then 'archived' when 'erase' then 'erased' end
    end,
    case
      when p_command in ('pause', 'unpause') then jsonb_build_object('paused', p_command = 'pause')
      when p_command = 'label' then jsonb_build_object('label', p_label)
      when p_command in ('reset', 'switch') then jsonb_build_object('previousSessionId', p_lane.session_id, 'reason', 'command')
      else jsonb_build_object('reason', 'command') end
$f$;

-- control_by: as in 0172, and `switch`: to p_new, a session of this lane (command_to looks), with what a reset does to the lane;
-- the one before ends for the reason p_label
create or replace function tk.control_by(p_tenant uuid, p_slot smallint, p_lane uuid, p_session uuid, p_command text, p_new uuid, p_label text,
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
  if p_command = 'switch' then
    update tk.sessions s set status = 'archived', ended_at = now(), end_reason = p_label
      where s.slot = p_slot and s.tenant_id = p_tenant and s.id = v_lane.session_id and s.id <> p_new and s.ended_at is null;
    update tk.sessions s set status = 'active', ended_at = null, end_reason = null, switched_at = v_now
      where s.slot = p_slot and s.tenant_id = p_tenant and s.id = p_new;
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
    set session_id = case when p_command in ('reset', 'switch') then p_new when p_command = 'erase' then null else z.session_id end,
        session_state = case p_command when 'switch' then 0 else z.session_state end,
        -- or a policy that counts idle time would end at once what a person has just asked for
        last_activity_at = case p_command when 'switch' then v_now else z.last_activity_at end,
        suspended = case when p_command in ('suspend', 'archive') then true when p_command in ('resume', 'reset', 'switch', 'erase') then false else z.suspended end,
        paused = case p_command when 'pause' then true when 'unpause' then false else z.paused end,
        resumes = case when p_command in ('reset', 'switch', 'erase') then 0 else z.resumes end,
        resume_pending = case when p_command in ('reset', 'switch', 'erase', 'suspend') then null else z.resume_pending end,
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

-- command_to: `command_by`, and two words more. switch: from the session p_from, if the lane still has it, to p_to, if it is still
-- there; else `moved`, and nothing was accepted or done: whoever decided looks again. answer: nothing is done but to say p_done.
create function tk.command_to(
  p_node uuid, p_slot smallint, p_tenant uuid, p_agent uuid, p_lane uuid, p_key text, p_scope uuid, p_dedupe text, p_hash bytea,
  p_event uuid, p_account uuid, p_body jsonb, p_traceparent text,
  p_command text, p_goes_on boolean, p_session uuid, p_notice uuid, p_done jsonb, p_idle jsonb, p_user text,
  p_from uuid, p_to uuid, p_end_reason text)
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
  if p_command = 'switch' and not exists (
      select 1 from tk.lanes z join tk.sessions s on s.slot = z.slot and s.tenant_id = z.tenant_id and s.lane_id = z.id
      where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane and z.session_id is not distinct from p_from and s.id = p_to) then
    return query select 'moved', null::int, null::bigint, null::uuid, null::smallint, null::uuid,
      null::bigint, null::uuid, null::uuid, null::uuid[], null::timestamptz;
    return;
  end if;
  select * into v_a from tk.accept(p_tenant::text, p_node, array[p_slot], array[p_tenant], array[p_agent], array[p_lane], array[p_key], array[2147483647],
    array[p_scope], array[p_dedupe], array[p_hash], array[p_event], array[1::smallint], array[p_account], array[p_body], array[p_traceparent],
    array[18::smallint], array[null::jsonb]);
  if v_a.result <> 'accepted' or v_a.event_id is not null then   -- came before; of this very event: its answer was lost
    return query select v_a.result, v_a.ahead, v_a.ord, v_a.event_id, v_a.slot, v_a.lane_id,
      null::bigint, null::uuid, null::uuid, null::uuid[], null::timestamptz;
    return;
  end if;
  if p_command = 'answer' then
    select 'done'::text result, null::bigint seq, null::uuid turn_id, null::uuid session_id, '{}'::uuid[] ended, clock_timestamp() at into v_c;
  else
    select * into v_c from tk.control_by(p_tenant, p_slot, p_lane, null, p_command,
      case p_command when 'switch' then p_to else p_session end, case p_command when 'switch' then p_end_reason end, null, null, null, p_user);
  end if;
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

create or replace function tk.command_by(
  p_node uuid, p_slot smallint, p_tenant uuid, p_agent uuid, p_lane uuid, p_key text, p_scope uuid, p_dedupe text, p_hash bytea,
  p_event uuid, p_account uuid, p_body jsonb, p_traceparent text,
  p_command text, p_goes_on boolean, p_session uuid, p_notice uuid, p_done jsonb, p_idle jsonb, p_user text)
returns table (result text, ahead int, ord bigint, event_id uuid, slot smallint, lane_id uuid,
  seq bigint, turn_id uuid, session_id uuid, ended uuid[], at timestamptz)
language sql volatile security invoker as $f$
  select * from tk.command_to(p_node, p_slot, p_tenant, p_agent, p_lane, p_key, p_scope, p_dedupe, p_hash, p_event, p_account, p_body,
    p_traceparent, p_command, p_goes_on, p_session, p_notice, p_done, p_idle, p_user, null, null, null)
$f$;

-- lane_sessions: the sessions of a lane that were begun or gone back to last, with its present one and p_wanted, if it is the
-- lane's; newest first. words: what was said first in it, where that is among the last 2000 events of the lane.
create function tk.lane_sessions(p_tenant uuid, p_slot smallint, p_lane uuid, p_wanted uuid, p_limit int)
returns table (id uuid, at timestamptz, is_current boolean, is_over boolean, words text) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query
    with z as (select z.session_id, z.suspended from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane),
    s as (
      select s.*, row_number() over (order by coalesce(s.switched_at, s.created_at) desc, s.id desc) nth
      from tk.sessions s where s.slot = p_slot and s.tenant_id = p_tenant and s.lane_id = p_lane),
    e as (
      select distinct on (e.session_id) e.session_id, left(e.body ->> 'text', 200) words
      from (select e.session_id, e.ord, e.kind, e.body from tk.events e
            where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane order by e.ord desc limit 2000) e
      where e.session_id is not null and e.kind = 0 order by e.session_id, e.ord)
    select s.id, coalesce(s.switched_at, s.created_at), s.id is not distinct from z.session_id,
           s.ended_at is not null or s.id = z.session_id and z.suspended, e.words
    from s cross join z left join e on e.session_id = s.id
    where s.nth <= p_limit or s.id = z.session_id or s.id = p_wanted
    order by s.nth;
end $f$;

-- transcript: as in 0171. Of a session that somebody went back to, its own newest rows: those of other sessions between them do not
-- count. The others are as near as before, and cost as little.
create or replace function tk.transcript(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_session uuid[], p_before bigint[], p_limit int)
returns table (i int, seq bigint, role text, body jsonb) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
  select q.o::int, x.seq, x.role, x.body
  from unnest(p_slot, p_tenant, p_lane, p_session, p_before) with ordinality q(s, t, l, ss, b, o)
  left join lateral (
    select z.switched_at is not null yes from tk.sessions z where z.slot = q.s and z.tenant_id = q.t and z.id = q.ss limit 1) went_back on true
  cross join lateral (
    select * from (
      (select e.seq, 0 k, e.ord n, e.session_id, 'user' role, e.body from tk.events e
       where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.seq < q.b and e.state in (10, 11, 12, 13, 16, 17)
         and (went_back.yes is not true or e.session_id = q.ss)
       order by e.ord desc limit p_limit)
      union all
      (select m.seq, 1, m.n::bigint, m.session_id, m.role, m.body from tk.messages m
       where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq < q.b
         and m.role <> 'user' and not (m.turn_id is null and m.role = 'assistant' and m.body ? 'cut')
         and (went_back.yes is not true or m.session_id = q.ss)
       order by m.seq desc, m.n desc limit p_limit)) u
    where u.session_id = q.ss
    order by seq desc, k desc, n desc limit p_limit) x
  order by q.o, x.seq, x.k, x.n;
end $f$;

revoke all on function tk.command_to, tk.lane_sessions from public;
grant execute on function tk.command_to, tk.lane_sessions to tk_engine;
