-- claim: the plain case, as a batch. The first statement locks in id order and keeps the tuple ids; the second has a
-- fresh snapshot: it decides and writes. Answers per lane: claimed | empty | busy | skipped | special | held | not_live |
-- missing. `special`: a resume, a suspended lane, or this very turn: `claim_one` goes on. `skipped` never means "no work".
-- "state < 10 and state = 0", here and elsewhere: the index on open events is then cheaper than the primary key also while
-- the planner has no statistics, and its plan is kept.
create function tk.claim(p_tenants text, p_boot uuid, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_turn uuid[], p_session uuid[], p_wait boolean)
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
        -- a late repetition of a call whose turn has ended meanwhile: an id names one turn, so the lane is claimed under the next one
        when (select true from tk.turns y where y.id = q.n limit 1) then 'skipped'
        else 'claimed' end r
    from unnest(p_slot, p_tenant, p_lane, p_turn, p_session, v_c) with ordinality q(s, t, l, n, x, c, o)
    cross join (select exists (select 1 from tk.workers w where w.boot_id = p_boot and w.state = 0) yes offset 0) live
    left join lateral (select z.turn_id, z.resume_of, z.suspended, z.paused, z.waits_for from tk.lanes z where z.ctid = q.c limit 1) z on true
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
  ses as (insert into tk.sessions (slot, tenant_id, id, lane_id) select s, t, x, l from up where session_id = x)
  select o::int, 'claimed', fence, session_id, seq, agent_id, key, source, turn_reason, null::uuid, turn_started_at,
         ord, id, kind, account_id, attempts, body, accepted_at, traceparent from up
  union all
  select o::int, r, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null from st where r <> 'claimed';
end $f$;

revoke all on function tk.claim from public;
grant execute on function tk.claim to tk_engine;
