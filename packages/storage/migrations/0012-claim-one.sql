-- claim_one: what `claim` answered `special`, one lane. A resume goes first and alone, with the events of the interrupted
-- turn. A suspended lane starts a fresh session with its lowest queued event. A turn that runs already under this very id
-- was claimed by an earlier try whose answer was lost: it is answered again. One row per event.
create function tk.claim_one(p_tenants text, p_boot uuid, p_slot smallint, p_tenant uuid, p_lane uuid, p_turn uuid, p_session uuid)
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
      v_reason := 1;
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
    if v_lane.suspended and v_lane.session_id is not null then
      update tk.sessions s set status = 'archived', ended_at = now() where s.slot = p_slot and s.tenant_id = p_tenant and s.id = v_lane.session_id;
    end if;
    if v_lane.suspended or v_lane.session_id is null then
      insert into tk.sessions (slot, tenant_id, id, lane_id, previous_id, started_reason)
        values (p_slot, p_tenant, p_session, p_lane, v_lane.session_id, case when v_lane.suspended then 'suspended' else 'first' end);
      v_lane.session_id := p_session;
    end if;
    update tk.lanes z
      set fence = z.fence + 1, seq = z.seq + 1, turn_id = p_turn, boot_id = p_boot, turn_ords = v_ords, turn_seq = z.seq + 1,
          turn_started_at = clock_timestamp(), turn_reason = v_reason, turn_resume_of = case v_reason when 1 then z.resume_of end, resume_of = null,
          session_id = v_lane.session_id, resumes = case when z.suspended then 0 else z.resumes end, suspended = false,
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

revoke all on function tk.claim_one from public;
grant execute on function tk.claim_one to tk_engine;
