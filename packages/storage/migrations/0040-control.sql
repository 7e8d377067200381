-- What people do to a conversation from outside (protocol: control), each one transaction under the lane's lock.

-- The lane's marks: what a control transaction did that no other row tells, under the lane seq that it raised. Streams are
-- replayed from them (`session.*` events: kind and body are theirs), retention deletes them.
create table tk.lane_marks (
  slot smallint not null,
  tenant_id uuid not null,
  lane_id uuid not null,
  seq bigint not null,
  n smallint not null default 0,                 -- order within the transaction
  kind text not null,                            -- the type of the durable event: session.reset, session.updated, input.resolved …
  session_id uuid,                               -- the lane's session after it
  body jsonb not null default '{}',              -- the event's data
  at timestamptz not null default clock_timestamp(),
  primary key (slot, tenant_id, lane_id, seq, n));
create index lane_marks_at on tk.lane_marks (at);

alter table tk.lane_marks enable row level security;
alter table tk.lane_marks force row level security;
create policy engine on tk.lane_marks to tk_engine
  using (tenant_id in (select unnest(string_to_array(current_setting('tk.tenants', true), ',')::uuid[])))
  with check (tenant_id in (select unnest(string_to_array(current_setting('tk.tenants', true), ',')::uuid[])));
create policy api on tk.lane_marks to tk_api
  using (tenant_id = (select nullif(current_setting('tk.tenant', true), '')::uuid))
  with check (tenant_id = (select nullif(current_setting('tk.tenant', true), '')::uuid));
create policy admin on tk.lane_marks to tk_admin using (true) with check (true);
create policy sweep on tk.lane_marks to tk_sweep using (true) with check (true);
grant select, insert, update on tk.lane_marks to tk_engine;
grant select on tk.lane_marks to tk_api, tk_admin;
grant select, insert, delete on tk.lane_marks to tk_sweep;
grant delete on tk.sessions to tk_engine;

-- Its conversation was deleted by its owner: readers find the lane again when it has a session or an open event.
alter table tk.lanes add column erased boolean not null default false;

create index lanes_label on tk.lanes (tenant_id, agent_id, label) where label is not null;

-- end_turns: as in 0015, but a lane that is suspended stays so: who hands a turn back, or interrupts it, does not know that
-- somebody suspended the lane meanwhile.
create or replace function tk.end_turns(
  p_c tid[], p_turn_state smallint[], p_event_state smallint[], p_error jsonb[],
  p_resume_of uuid[], p_pending text[], p_resumes smallint[], p_suspend boolean[])
returns table (i int, slot smallint, tenant_id uuid, lane_id uuid, turn_id uuid, fence bigint, seq bigint, session_id uuid, run_id uuid, account_id uuid, traceparent text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_now timestamptz := clock_timestamp();
begin
  return query
  with q as materialized (
    select u.*, z.turn_id n
    from unnest(p_c, p_turn_state, p_event_state, p_error, p_resume_of, p_pending, p_resumes, p_suspend) with ordinality u(c, ts, es, er, ro, pe, re, su, o)
    cross join lateral (select z.turn_id from tk.lanes z where z.ctid = u.c and z.turn_id is not null limit 1) z),
  ln as (
    update tk.lanes z
    set fence = z.fence + 1, seq = z.seq + 1, turn_id = null, resume_of = q.ro, resume_pending = coalesce(q.pe, z.resume_pending), resumes = q.re,
        suspended = q.su or z.suspended
    from q where z.ctid = q.c and z.turn_id = q.n
    returning q.*, z.slot s, z.tenant_id t, z.id l, z.session_id, z.seq, z.fence, z.agent_id, z.boot_id, z.turn_ords, z.turn_seq, z.turn_started_at, z.turn_reason, z.turn_resume_of),
  own as materialized (
    select ln.*, x.*
    from ln cross join lateral (
      select array_agg(e.c order by w.ord) cs, array_agg(e.id order by w.ord) ids,
             (array_agg(e.account_id order by w.ord))[1] account_id, (array_agg(e.traceparent order by w.ord))[1] traceparent
      from unnest(ln.turn_ords) w(ord)
      cross join lateral (
        select e.ctid c, e.id, e.account_id, e.traceparent from tk.events e
        where e.slot = ln.s and e.tenant_id = ln.t and e.lane_id = ln.l and e.ord = w.ord and e.state < 10 limit 1) e) x),
  ev as (
    update tk.events e
    set state = x.es, attempts = e.attempts + 1, turn_id = x.n, error = x.er,
        session_id = case when x.es > 0 then x.session_id end,
        seq = case when x.es > 0 then coalesce(e.seq, x.turn_seq) end,
        started_at = case when x.es > 0 then x.turn_started_at end,
        end_seq = case when x.es >= 10 then x.seq end,
        settled_at = case when x.es >= 10 then v_now end
    from (select own.*, u.c event_c from own cross join lateral unnest(own.cs) u(c)) x
    where e.ctid = x.event_c and e.state + 0 < 2),
  tu as (
    insert into tk.turns (slot, tenant_id, lane_id, id, fence, boot_id, state, reason, resume_of, agent_id, session_id, ords, event_ids,
                          seq, end_seq, error, started_at, ended_at)
    select s, t, l, n, fence - 1, boot_id, ts, turn_reason, turn_resume_of, agent_id, session_id, turn_ords, ids, turn_seq, seq, er, turn_started_at, v_now from own)
  select o::int, s, t, l, n, fence, seq, session_id, ids[1], account_id, traceparent from own;
end $f$;

-- control: stop | reset | pause | unpause | suspend | resume | archive | label | erase, on the lane whose session is p_session
-- (null: whichever it has). stop and reset fence a running turn off, so that what it still writes is refused; the others
-- leave it alone, and with it the fence. Answers
--   done            p_turn was running and is to be told; `ended` are the runs that were discarded
--   same            it was so already: nothing was written
--   duplicate       this key came before with this body; mismatch: with another. Only reset makes something, so only it has a key
--   nothing_to_stop | lane_busy (a turn runs or is owed, or deliveries are) | label_in_use | past (not the lane's session any
--   more) | no_session | missing: nothing was written
create function tk.control(p_tenant uuid, p_slot smallint, p_lane uuid, p_session uuid, p_command text, p_new uuid, p_label text,
  p_scope uuid, p_key text, p_hash bytea)
returns table (result text, seq bigint, turn_id uuid, session_id uuid, ended uuid[], at timestamptz)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_lane tk.lanes;
  v_c tid;
  v_now timestamptz;
  v_ords bigint[];                               -- events that end here
  v_ended uuid[] := '{}';
  v_turn uuid;
  v_seq bigint;
  v_kind text;
  v_body jsonb := '{}';
  v_status text;
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
  if v_lane.id is null then
    v_answer := 'missing';
  elsif p_session is not null and v_lane.session_id is distinct from p_session then
    v_answer := 'past';
  elsif p_command in ('archive', 'erase') and (
      v_lane.turn_id is not null or v_lane.resume_of is not null or v_lane.waits_for is not null
      or p_command = 'erase' and (
        exists (select 1 from tk.events e where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10)
        or exists (select 1 from tk.messages m where m.slot = p_slot and m.tenant_id = p_tenant and m.lane_id = p_lane
                   and m.dstate in (0, 1, 4) and not (m.dstate = 4 and m.drecovered)))) then
    v_answer := 'lane_busy';
  end if;
  if v_lane.session_id is not null then
    select s.status into v_status from tk.sessions s where s.slot = p_slot and s.tenant_id = p_tenant and s.id = v_lane.session_id;
  end if;

  if v_answer is not null then null;
  elsif p_command in ('stop', 'reset') then
    select array_agg(e.ord) into v_ords from (
      select e.ord, e.kind, e.state, e.state > 0 or v_lane.turn_id is not null and e.ord = any (v_lane.turn_ords) taken,
             row_number() over (partition by e.state = 0 and not (v_lane.turn_id is not null and e.ord = any (v_lane.turn_ords)) order by e.ord) nth
      from tk.events e where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10) e
      where e.taken or e.kind <> 2 and (p_command = 'reset' or e.nth = 1);
    if v_ords is null and p_command = 'stop' then
      v_answer := 'nothing_to_stop';
    end if;
    v_kind := case p_command when 'reset' then 'session.reset' end;
    v_body := jsonb_build_object('previousSessionId', v_lane.session_id, 'reason', 'command');
  elsif p_command in ('pause', 'unpause') then
    if v_lane.paused = (p_command = 'pause') then v_answer := 'same'; end if;
    v_kind := 'session.updated';
    v_body := jsonb_build_object('paused', p_command = 'pause');
  elsif p_command = 'suspend' then
    if v_lane.suspended then v_answer := 'same'; end if;
    select array_agg(e.ord) into v_ords from tk.events e     -- the resume that is owed goes with the session
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10 and e.state = 1 and v_lane.turn_id is null;
    v_kind := 'session.suspended';
    v_body := jsonb_build_object('reason', 'command');
  elsif p_command = 'resume' then
    if v_status = 'archived' then v_answer := 'past'; elsif not v_lane.suspended then v_answer := 'same'; end if;
    v_kind := 'session.resumed';
    v_body := jsonb_build_object('reason', 'command');
  elsif p_command = 'archive' then
    if v_lane.session_id is null then v_answer := 'no_session'; elsif v_status = 'archived' then v_answer := 'same'; end if;
    v_kind := 'session.archived';
    v_body := jsonb_build_object('reason', 'command');
  elsif p_command = 'label' then
    if v_lane.label is not distinct from p_label then
      v_answer := 'same';
    elsif exists (select 1 from tk.lanes z where z.tenant_id = p_tenant and z.agent_id = v_lane.agent_id and z.label = p_label and z.id <> p_lane) then
      v_answer := 'label_in_use';
    end if;
    v_kind := 'session.updated';
    v_body := jsonb_build_object('label', p_label);
  elsif p_command = 'erase' then
    v_kind := 'session.erased';
    v_body := jsonb_build_object('reason', 'command');
  else
    raise exception 'no such command' using errcode = '22023';
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
    update tk.lanes z set seq = z.seq + 1, fence = z.fence + (p_command in ('stop', 'reset'))::int
      where z.ctid = v_c returning z.seq into v_seq;
  end if;
  if v_ords is not null then
    with e as (
      update tk.events e set state = 18, end_seq = v_seq, settled_at = v_now
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = any (v_ords) and e.state < 10 returning e.id)
    select v_ended || coalesce(array_agg(e.id), '{}') into v_ended from e;
  end if;
  if p_command in ('stop', 'reset') and v_lane.waits_for is not null then
    update tk.inputs i set state = 'cancelled', resolved_at = v_now
      where i.slot = p_slot and i.tenant_id = p_tenant and i.id = v_lane.waits_for and i.state = 'open';
    insert into tk.lane_marks (slot, tenant_id, lane_id, seq, n, kind, session_id, body)
      values (p_slot, p_tenant, p_lane, v_seq, 1, 'input.resolved', v_lane.session_id,
              jsonb_build_object('inputId', v_lane.waits_for, 'outcome', 'cancelled', 'by', 'command'));
  end if;
  if p_command in ('reset', 'archive') and v_lane.session_id is not null then
    update tk.sessions s set status = 'archived', ended_at = now() where s.slot = p_slot and s.tenant_id = p_tenant and s.id = v_lane.session_id and s.ended_at is null;
  end if;
  if p_command = 'reset' then
    insert into tk.sessions (slot, tenant_id, id, lane_id, previous_id, started_reason) values (p_slot, p_tenant, p_new, p_lane, v_lane.session_id, 'reset');
  elsif p_command = 'erase' then
    -- rows stay, for what the promises are judged by; what was said goes
    update tk.events e set body = '{"text": ""}', error = case when e.error is not null then jsonb_build_object('code', e.error -> 'code') end
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane;
    update tk.messages m set body = '{"text": ""}' where m.slot = p_slot and m.tenant_id = p_tenant and m.lane_id = p_lane;
    update tk.lane_marks k set body = k.body - '{prompt,options,label}'::text[]
      where k.slot = p_slot and k.tenant_id = p_tenant and k.lane_id = p_lane and k.body ?| '{prompt,options,label}';
    update tk.inputs i set prompt = '{}', answer = null where i.slot = p_slot and i.tenant_id = p_tenant and i.lane_id = p_lane;
    delete from tk.sessions s where s.slot = p_slot and s.tenant_id = p_tenant and s.lane_id = p_lane;
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
    returning z.* into v_lane;
  if v_kind is not null then
    insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body) values (p_slot, p_tenant, p_lane, v_seq, v_kind, v_lane.session_id, v_body);
  end if;
  return query select 'done', v_seq, v_turn, v_lane.session_id, v_ended, v_now;
end $f$;

-- outbound: a message without a turn, to the end of the conversation: transcript entry and, when p_owed, outbox entry, which
-- leaves after all that stands before it. It changes neither turn nor fence. A conversation without a living session gets
-- one. sent | duplicate (this key came before with this body) | mismatch | missing | past
create function tk.outbound(
  p_tenant uuid, p_slot smallint, p_lane uuid, p_session uuid, p_new uuid, p_message uuid, p_role text, p_body jsonb, p_account uuid,
  p_scope uuid, p_key text, p_hash bytea)
returns table (result text, message_id uuid, seq bigint, session_id uuid, at timestamptz, dstate smallint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_lane tk.lanes;
  v_first tk.dedupe_keys;
  v_status text;
  v_fresh boolean;
  v_now timestamptz;
  v_dstate smallint := case when p_account is null then 2 else 0 end;
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
  if not found or p_session is not null and v_lane.session_id is distinct from p_session then
    delete from tk.dedupe_keys d where d.tenant_id = p_tenant and d.scope = p_scope and d.key = p_key;
    return query select case when v_lane.id is null then 'missing' else 'past' end, null::uuid, null::bigint, null::uuid, null::timestamptz, null::smallint;
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

-- lane_account: through which account the conversation was last spoken to; null: by none
create function tk.lane_account(p_tenant uuid, p_slot smallint, p_lane uuid) returns table (account_id uuid)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query select e.account_id from tk.events e where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane order by e.ord desc limit 1;
end $f$;

-- delete_old_marks: beside delete_expired, which is older than they are
create function tk.delete_old_marks(p_days double precision, p_batch int) returns table (name text, rows bigint)
language plpgsql volatile security invoker as $f$
declare
  v_rows bigint;
begin
  with k as (select m.ctid c from tk.lane_marks m where m.at < now() - p_days * interval '1 day' order by m.at limit p_batch)
  delete from tk.lane_marks m using k where m.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'lane_marks', v_rows;
end $f$;

revoke all on function tk.control, tk.outbound, tk.lane_account, tk.delete_old_marks from public;
grant execute on function tk.control, tk.outbound, tk.lane_account to tk_engine;
grant execute on function tk.delete_old_marks to tk_sweep;
grant delete on tk.dedupe_keys to tk_engine;
grant select, insert, update on tk.inputs to tk_engine;
