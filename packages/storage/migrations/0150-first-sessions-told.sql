-- The first session of a lane is told of like every later one: by a mark of the claim that begins it, in the same statement.

-- claim: as in 0140, and the mark.
create or replace function tk.claim(p_tenants text, p_boot uuid, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_turn uuid[], p_session uuid[], p_wait boolean)
returns table (
  i int, result text, fence bigint, session_id uuid, seq bigint, agent_id uuid, key text, source jsonb, reason smallint, resume_of uuid, started_at timestamptz,
  ord bigint, event_id uuid, kind smallint, account_id uuid, attempts smallint, body jsonb, accepted_at timestamptz, traceparent text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid[];
begin
  perform set_config('tk.tenants', p_tenants, true);
  if p_wait then                              -- after three skips: the lane alone, waiting a little
    perform 1 from (select * from unnest(p_slot, p_tenant, p_lane) q(s, t, l) order by s, t, l) q
      cross join lateral (select 1 from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l for no key update) z;
  end if;
  select array_agg(z.c order by q.o) into v_c
    from (select * from unnest(p_slot, p_tenant, p_lane) with ordinality q(s, t, l, o) order by s, t, l) q
    left join lateral (
      select z.ctid c from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l for no key update skip locked) z on true;
  -- "(select true … limit 1)", not "exists (…)": that may be planned as a hash of the whole table, for every call
  return query
  with st as materialized (
    select q.*, e.*, case
        when q.c is null then case when (select true from tk.lanes y where y.slot = q.s and y.tenant_id = q.t and y.id = q.l limit 1) then 'skipped' else 'missing' end
        when z.turn_id = q.n then 'special'
        when not live.yes then 'not_live'
        when z.turn_id is not null then 'busy'
        when z.paused or z.waits_for is not null then 'held'
        when z.resume_of is not null or z.suspended then 'special'
        when e.ord is null then 'empty'
        when z.session_state <> 0 or z.resume_pending is not null then 'special'
        when e.kind <> 2 and (select true from tk.agents a where a.id = z.agent_id and a.tenant_id = q.t and a.resets limit 1) then 'special'
        when z.session_id is null and (select true from tk.sessions s where s.slot = q.s and s.tenant_id = q.t and s.lane_id = q.l limit 1) then 'special'
        -- a late repetition of a call whose turn has ended meanwhile: an id names one turn, so the lane is claimed under the next one
        when (select true from tk.turns y where y.id = q.n limit 1) then 'skipped'
        else 'claimed' end r
    from unnest(p_slot, p_tenant, p_lane, p_turn, p_session, v_c) with ordinality q(s, t, l, n, x, c, o)
    cross join (select exists (select 1 from tk.workers w where w.boot_id = p_boot and w.state = 0) yes offset 0) live
    left join lateral (select z.turn_id, z.resume_of, z.resume_pending, z.suspended, z.paused, z.waits_for, z.session_id, z.session_state, z.agent_id from tk.lanes z where z.ctid = q.c limit 1) z on true
    left join lateral (
      select e.ord, e.id, e.kind, e.account_id, e.attempts, e.body, e.accepted_at, e.traceparent from tk.events e
      where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.state < 10 and e.state = 0 order by e.ord limit 1) e on q.c is not null and z.turn_id is null),
  up as (
    update tk.lanes z
    set fence = z.fence + 1, seq = z.seq + 1, turn_id = p.n, boot_id = p_boot, turn_ords = array[p.ord], turn_seq = z.seq + 1,
        turn_started_at = clock_timestamp(), turn_reason = case p.kind when 2 then 2 else 0 end, turn_resume_of = null,
        session_id = coalesce(z.session_id, p.x),
        last_activity_at = case p.kind when 2 then z.last_activity_at else now() end   -- wakes are nobody's activity
    from st p where z.ctid = p.c and z.turn_id is null and p.r = 'claimed'
    returning p.*, z.fence, z.session_id, z.seq, z.agent_id, z.key, z.source, z.turn_reason, z.turn_started_at),
  ses as (insert into tk.sessions (slot, tenant_id, id, lane_id) select s, t, x, l from up where session_id = x),
  told as (
    insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
    select s, t, l, seq, 'session.started', x, '{"reason": "first"}' from up where session_id = x)
  select o::int, 'claimed', fence, session_id, seq, agent_id, key, source, turn_reason, null::uuid, turn_started_at,
         ord, id, kind, account_id, attempts, body, accepted_at, traceparent from up
  union all
  select o::int, r, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null from st where r <> 'claimed';
end $f$;

-- claim_special: as in 0140, and the mark also where there was nothing to decide on.
create or replace function tk.claim_special(
  p_tenants text, p_boot uuid, p_slot smallint, p_tenant uuid, p_lane uuid, p_turn uuid, p_session uuid, p_route jsonb)
returns table (
  result text, fence bigint, session_id uuid, seq bigint, agent_id uuid, key text, source jsonb, reason smallint, resume_of uuid, started_at timestamptz,
  ord bigint, event_id uuid, kind smallint, account_id uuid, attempts smallint, body jsonb, accepted_at timestamptz, traceparent text, facts jsonb, pending text, pending_ms double precision)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_lane tk.lanes;
  v_ords bigint[];
  v_reason smallint;
  v_answer text;
  v_facts jsonb;
  v_old uuid;
  v_revived boolean := false;
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
    elsif v_reason not in (1, 4) then         -- what goes on, goes on where it began
      v_facts := tk.session_facts(v_lane, v_ords[1]);
      if v_facts is not null and v_facts ->> 'seen' is distinct from p_route ->> 'seen' then
        v_answer := 'undecided';
      end if;
    end if;
  end if;
  if v_answer is not null then
    return query select v_answer, null::bigint, null::uuid, null::bigint, null::uuid, null::text, null::jsonb, null::smallint, null::uuid, null::timestamptz,
      null::bigint, null::uuid, null::smallint, null::uuid, null::smallint, null::jsonb, null::timestamptz, null::text,
      case v_answer when 'undecided' then v_facts end, null::text, null::double precision;
    return;
  end if;

  if v_reason is not null then                -- not claimed before
    v_old := v_lane.session_id;
    if v_facts is null then
      if v_old is null then
        insert into tk.sessions (slot, tenant_id, id, lane_id) values (p_slot, p_tenant, p_session, p_lane);
        v_lane.session_id := p_session;
      end if;
    elsif p_route ->> 'session' = 'new' then
      update tk.sessions s
        set status = 'archived', ended_at = coalesce(s.ended_at, now()), end_reason = coalesce(s.end_reason, p_route ->> 'endReason')
        where s.slot = p_slot and s.tenant_id = p_tenant and s.id = v_old;
      insert into tk.sessions (slot, tenant_id, id, lane_id, previous_id, started_reason)
        values (p_slot, p_tenant, p_session, p_lane, v_old, p_route ->> 'startedReason');
      v_lane.session_id := p_session;
      v_lane.session_state := 0;
      v_lane.suspended := false;
      v_lane.resumes := 0;
      v_lane.resume_pending := null;
    else
      v_lane.session_id := (p_route ->> 'sessionId')::uuid;
      update tk.sessions s set status = p_route ->> 'status', ended_at = null, end_reason = null
        where s.slot = p_slot and s.tenant_id = p_tenant and s.id = v_lane.session_id
          and (s.status, s.ended_at is null) is distinct from (p_route ->> 'status', true);
      v_revived := found;
      v_lane.session_state := case p_route ->> 'status' when 'expired' then 1 else 0 end;
    end if;
    update tk.lanes z
      set fence = z.fence + 1, seq = z.seq + 1, turn_id = p_turn, boot_id = p_boot, turn_ords = v_ords, turn_seq = z.seq + 1,
          turn_started_at = clock_timestamp(), turn_reason = v_reason, turn_resume_of = case when v_reason in (1, 4) then z.resume_of end, resume_of = null,
          session_id = v_lane.session_id, session_state = v_lane.session_state, resumes = v_lane.resumes,
          suspended = v_lane.suspended, resume_pending = v_lane.resume_pending,
          last_activity_at = case v_reason when 0 then now() else z.last_activity_at end
      where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane
      returning z.* into v_lane;
    if v_revived or v_lane.session_id is distinct from v_old then
      insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
        values (p_slot, p_tenant, p_lane, v_lane.seq,
                case when p_route ->> 'session' <> 'new' then 'session.resumed' when p_route ->> 'startedReason' in ('idle', 'daily', 'both') then 'session.reset' else 'session.started' end,
                v_lane.session_id,
                jsonb_strip_nulls(jsonb_build_object('previousSessionId', nullif(v_old, v_lane.session_id), 'reason', coalesce(p_route ->> 'startedReason', case when v_old is null then 'first' else 'message' end))));
    end if;
  end if;
  return query
    select 'claimed', v_lane.fence, v_lane.session_id, v_lane.turn_seq, v_lane.agent_id, v_lane.key, v_lane.source, v_lane.turn_reason, v_lane.turn_resume_of,
           v_lane.turn_started_at, e.ord, e.id, e.kind, e.account_id, e.attempts, e.body, e.accepted_at, e.traceparent, null::jsonb, v_lane.resume_pending,
           (extract(epoch from clock_timestamp() - v_lane.resume_marked_at) * 1000)::double precision
    from unnest(v_ords) with ordinality w(ord, o)
    cross join lateral (
      select e.* from tk.events e where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.ord = w.ord and e.state < 10 limit 1) e
    order by w.o;
end $f$;
