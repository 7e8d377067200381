-- Deliveries as people see them: listed, and decided by hand where no rule can.

-- A delivery is found by its id, and a tenant's are listed newest first (the ids are UUIDv7): one index for both, in place of
-- the one by id alone. What went wrong, or waits, has an index of its own, which a reply that is taken at once never enters.
drop index tk.messages_id;
create index messages_id on tk.messages (tenant_id, id);
create index messages_troubled on tk.messages (tenant_id, id) where dstate in (0, 3, 4, 5);

-- onUnknown = hold: an unknown outcome waits for a person, and with it what stands behind it; ddue is when it is given up.
-- What is held must not stand before what is to be sent again.
drop index tk.messages_unknown;
create index messages_unknown on tk.messages (slot) where dstate = 4 and not drecovered and ddue is null;
create index messages_held on tk.messages (ddue) where dstate = 4 and not drecovered and ddue is not null;

-- delete_expired: as in 0088, but the oldest messages and events are found tenant by tenant: their ids are indexed so.
create or replace function tk.delete_expired(p_settled_days double precision, p_dedupe_days double precision, p_batch int)
returns table (name text, rows bigint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_before uuid := tk.id_before(p_settled_days);
  v_since timestamptz := now() - p_settled_days * interval '1 day';
  v_rows bigint;
  v_c tid[];
begin
  with k as (select d.ctid c from tk.dedupe_keys d where d.at < now() - p_dedupe_days * interval '1 day' order by d.at limit p_batch)
  delete from tk.dedupe_keys d using k where d.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'dedupe_keys', v_rows;

  with k as (
    select m.c from tk.tenants t cross join lateral (
      select m.ctid c from tk.messages m
      where m.tenant_id = t.id and m.id < v_before and m.at < v_since
        and (m.dstate is null or m.dstate in (2, 3, 5, 6) or m.dstate = 4 and m.drecovered)
      order by m.id limit p_batch for update skip locked) m limit p_batch)
  delete from tk.messages m using k where m.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'messages', v_rows;

  with k as (select t.ctid c from tk.turns t where t.id < v_before and t.ended_at < v_since order by t.id limit p_batch)
  delete from tk.turns t using k where t.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'turns', v_rows;

  with k as (
    select e.c from tk.tenants t cross join lateral (
      select e.ctid c from tk.events e
      where e.tenant_id = t.id and e.id < v_before and e.state >= 10 and e.settled_at < v_since
      order by e.id limit p_batch for update skip locked) e limit p_batch)
  delete from tk.events e using k where e.ctid = k.c;
  get diagnostics v_rows = row_count;
  return query select 'events', v_rows;

  v_c := tk.idle_lanes(v_since, p_batch);
  -- a statement of its own: an accept, a turn or a delivery that came before the locks is seen
  return query select 'lanes', tk.delete_lanes(v_c, p_batch);
  return query select 'sessions', tk.delete_ended_sessions(p_settled_days, p_batch);

  delete from tk.workers w where w.state in (2, 3) and w.ended_at < now() - interval '1 day' and w.swept_at >= w.ended_at + interval '30 seconds'
    and not exists (select 1 from tk.partitions p where p.owner = w.boot_id);
  get diagnostics v_rows = row_count;
  return query select 'workers', v_rows;
end $f$;

-- claim_due: as in 0020, but what is marked is looked at once more after it was locked: a person may have made an earlier
-- delivery of the conversation due since the head was found.
create or replace function tk.claim_due(p_tenants text, p_boot uuid, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_except uuid[])
returns table (
  slot smallint, tenant_id uuid, lane_id uuid, seq bigint, n smallint, id uuid, account_id uuid, attempt smallint, recovered boolean, run_id uuid, turn_id uuid,
  key text, agent_id uuid, role text, body jsonb, started_at timestamptz, at timestamptz, traceparent text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid[];
begin
  perform set_config('tk.tenants', p_tenants, true);
  -- the head is found first and locked by its key: "order by … limit 1 … skip locked" would pass over a locked head
  select array_agg(m.c) into v_c
    from (select distinct s, t, l from unnest(p_slot, p_tenant, p_lane) q(s, t, l) order by s, t, l) q
    cross join lateral (
      select m.seq, m.n from tk.messages m
      where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.dstate in (0, 1, 4) and not (m.dstate = 4 and m.drecovered)
      order by m.seq, m.n limit 1) h
    cross join lateral (
      select m.ctid c from tk.messages m
      where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq = h.seq and m.n = h.n and m.dstate + 0 = 0
        and (m.ddue is null or m.ddue <= clock_timestamp()) and not coalesce(m.account_id = any (p_except), false)
      for no key update skip locked) m;
  return query
  with up as (
    update tk.messages m set dstate = 1, dboot = p_boot, dattempt = coalesce(m.dattempt, 0) + 1, ddue = null, derror = null, dat = clock_timestamp()
    from unnest(v_c) q(c)
    where m.ctid = q.c and m.dstate + 0 = 0 and exists (select 1 from tk.workers w where w.boot_id = p_boot and w.state = 0)
      and not coalesce((
        select true from tk.messages y
        where y.slot = m.slot and y.tenant_id = m.tenant_id and y.lane_id = m.lane_id and y.dstate in (0, 1, 4) and not (y.dstate = 4 and y.drecovered)
          and (y.seq, y.n) < (m.seq, m.n) limit 1), false)
    returning m.*)
  select up.slot, up.tenant_id, up.lane_id, up.seq, up.n, up.id, up.account_id, up.dattempt, up.drecovered, up.run_id, up.turn_id,
         z.key, z.agent_id, up.role, up.body, up.started_at, up.at, up.traceparent
  from up cross join lateral (select z.key, z.agent_id from tk.lanes z where z.slot = up.slot and z.tenant_id = up.tenant_id and z.id = up.lane_id limit 1) z;
end $f$;

-- lost_sends: what lost processes were sending → unknown; returns their lanes
create function tk.lost_sends(p_limit int, p_error jsonb)
returns table (slot smallint, tenant_id uuid, lane_id uuid) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  if not tk.lost_look_due() then
    return;
  end if;
  return query
  with m as materialized (
    select m.slot, m.tenant_id, m.lane_id, m.seq, m.n from tk.messages m left join tk.workers o on o.boot_id = m.dboot
    where m.dstate in (0, 1, 4) and m.dstate = 1 and coalesce(o.state, 3) in (2, 3)
    order by m.slot, m.tenant_id, m.lane_id, m.seq, m.n limit p_limit),
  k as materialized (
    select y.c from m cross join lateral (
      select y.ctid c from tk.messages y
      where y.slot = m.slot and y.tenant_id = m.tenant_id and y.lane_id = m.lane_id and y.seq = m.seq and y.n = m.n and y.dstate + 0 = 1
      for no key update skip locked) y)
  update tk.messages y set dstate = 4, derror = p_error, ddue = null, dat = clock_timestamp() from k where y.ctid = k.c and y.dstate + 0 = 1
  returning y.slot, y.tenant_id, y.lane_id;
end $f$;

-- unknown_sends: outcomes nobody has decided on, with what the rules ask (core, `claimOwed`); held ones only when their time
-- is over. policy: the account's onUnknown; null: the channel's own way.
create function tk.unknown_sends(p_limit int)
returns table (slot smallint, tenant_id uuid, lane_id uuid, seq bigint, n smallint, attempt smallint, age_ms double precision, since_ms double precision,
               held boolean, policy text)
language plpgsql stable security invoker as $f$
#variable_conflict use_column
begin
  return query
  with m as materialized (
    (select m.slot, m.tenant_id, m.lane_id, m.seq, m.n, m.dattempt, m.at, m.dat, m.account_id, false held
     from tk.messages m where m.dstate = 4 and not m.drecovered and m.ddue is null order by m.slot limit p_limit)
    union all
    (select m.slot, m.tenant_id, m.lane_id, m.seq, m.n, m.dattempt, m.at, m.dat, m.account_id, true
     from tk.messages m where m.dstate = 4 and not m.drecovered and m.ddue is not null and m.ddue <= clock_timestamp() order by m.ddue limit p_limit))
  select m.slot, m.tenant_id, m.lane_id, m.seq, m.n, coalesce(m.dattempt, 0::smallint),
         extract(epoch from clock_timestamp() - m.at)::double precision * 1000,
         coalesce(extract(epoch from clock_timestamp() - m.dat)::double precision * 1000, 0), m.held, a.policy
  from m
  left join lateral (
    select v.config -> 'options' ->> 'onUnknown' policy from tk.accounts g
    cross join lateral (select v.config from tk.account_versions v where v.tenant_id = g.tenant_id and v.account_id = g.id and v.version = g.version limit 1) v
    where g.id = m.account_id and g.tenant_id = m.tenant_id limit 1) a on true
  limit p_limit;
end $f$;

-- decide_unknown: writes verdicts where the outcome is still unknown and undecided: 0 sent again, marked; 1 held for so many
-- milliseconds; 2 given up. Returns the items written.
create function tk.decide_unknown(
  p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_seq bigint[], p_n smallint[], p_attempt smallint[], p_verdict smallint[], p_hold_ms double precision[],
  p_error jsonb[])
returns table (i int) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query
  with k as materialized (
    select q.*, m.c
    from (select * from unnest(p_slot, p_tenant, p_lane, p_seq, p_n, p_attempt, p_verdict, p_hold_ms, p_error)
            with ordinality q(s, t, l, sq, n, a, v, h, er, o) order by s, t, l, sq, n) q
    cross join lateral (
      select m.ctid c from tk.messages m
      where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq = q.sq and m.n = q.n and m.dstate + 0 = 4 and not m.drecovered
        and coalesce(m.dattempt, 0) = q.a
      for no key update skip locked) m)
  update tk.messages m
  set dstate = case k.v when 0 then 0 when 1 then 4 else 5 end, drecovered = k.v = 0, dboot = null,
      ddue = case when k.v = 1 then clock_timestamp() + k.h * interval '1 millisecond' end,
      derror = coalesce(k.er, m.derror), dat = case when k.v = 2 then clock_timestamp() else m.dat end
  from k where m.ctid = k.c and m.dstate + 0 = 4 and not m.drecovered
  returning k.o::int;
end $f$;

-- repair_deliveries: as in 0020, for coordinators of the version before, which know no policy: what is held stays so.
create or replace function tk.repair_deliveries(p_limit int, p_error jsonb)
returns table (slot smallint, tenant_id uuid, lane_id uuid, resent boolean) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query select s.slot, s.tenant_id, s.lane_id, false from tk.lost_sends(p_limit, p_error) s;
  return query
  with k as materialized (
    select m.ctid c from tk.messages m where m.dstate = 4 and not m.drecovered and m.ddue is null order by m.slot limit p_limit for no key update skip locked)
  update tk.messages y set dstate = 0, drecovered = true, dboot = null, ddue = null from k
  where y.ctid = k.c and y.dstate + 0 = 4 and not y.drecovered
  returning y.slot, y.tenant_id, y.lane_id, true;
end $f$;

-- decide_delivery: what a person says of one delivery: retry | delivered | abandoned. Under the lane's lock, and those of all
-- that its conversation is owed: no send begins beside it. Answers
--   done     it is so now; same: it was so already, nothing was written
--   busy     it, or, for a retry, another one of its conversation, is being sent at this moment
--   settled  it is delivered, or given up, or stands where its reader finds it: there is nothing to say
--   gone     its words have been deleted since; missing: no such delivery
-- A retry of what may have arrived is marked recovered; one that was refused for certain is not.
create function tk.decide_delivery(p_tenant uuid, p_message uuid, p_verb text, p_audit uuid, p_actor text)
returns table (result text, slot smallint, lane_id uuid, session_id uuid, key text, turn_id uuid, run_id uuid, dstate smallint, dattempt smallint, dref text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_m tk.messages;
  v_key text;
  v_sending boolean;
  v_answer text;
  v_to smallint := case p_verb when 'retry' then 0 when 'delivered' then 2 else 5 end;
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  select m.* into v_m from tk.messages m where m.tenant_id = p_tenant and m.id = p_message and m.dstate is not null limit 1;
  if v_m.id is null then
    return query select 'missing', null::smallint, null::uuid, null::uuid, null::text, null::uuid, null::uuid, null::smallint, null::smallint, null::text;
    return;
  end if;
  select z.key into v_key from tk.lanes z where z.slot = v_m.slot and z.tenant_id = p_tenant and z.id = v_m.lane_id for no key update;
  perform 1 from tk.messages m
    where m.slot = v_m.slot and m.tenant_id = p_tenant and m.lane_id = v_m.lane_id and m.dstate in (0, 1, 4)
    order by m.seq, m.n for no key update;
  -- by its id again: a turn that was taken over may have moved it
  select m.* into v_m from tk.messages m where m.tenant_id = p_tenant and m.id = p_message for no key update;
  select coalesce((select true from tk.messages m
    where m.slot = v_m.slot and m.tenant_id = p_tenant and m.lane_id = v_m.lane_id and m.dstate in (0, 1, 4) and m.dstate = 1 limit 1), false) into v_sending;
  v_answer := case
    when v_m.id is null then 'missing'
    when v_m.dstate = 1 then 'busy'
    when v_m.dstate = v_to and (p_verb <> 'retry' or v_m.ddue is null) then 'same'
    when v_m.dstate = 2 or v_m.dstate = 6 and p_verb = 'retry' then 'settled'
    when p_verb = 'delivered' and v_m.dstate = 0 and v_m.dattempt = 0 then 'settled'
    when p_verb = 'retry' and v_m.body ->> 'text' = '' and not v_m.body ? 'attachments' then 'gone'
    when p_verb = 'retry' and v_sending then 'busy'
    else 'done' end;
  if v_answer = 'done' then
    update tk.messages m
      set dstate = v_to, drecovered = m.drecovered or m.dstate = 4 and p_verb = 'retry', dboot = null, ddue = null, dat = clock_timestamp(),
          dref = case p_verb when 'delivered' then 'person' else m.dref end,
          derror = case p_verb when 'abandoned' then '{"code": "given_up"}'::jsonb when 'retry' then m.derror end
      where m.slot = v_m.slot and m.tenant_id = p_tenant and m.lane_id = v_m.lane_id and m.seq = v_m.seq and m.n = v_m.n;
    insert into tk.audit (tenant_id, id, actor, action, subject, detail)
      values (p_tenant, p_audit, p_actor, case p_verb when 'retry' then 'delivery.retried' else 'delivery.resolved' end, 'delivery:' || p_message,
              jsonb_build_object('from', v_m.dstate, 'to', v_to, 'attempt', v_m.dattempt));
  end if;
  return query
    select v_answer, m.slot, m.lane_id, m.session_id, v_key, m.turn_id, m.run_id, m.dstate, coalesce(m.dattempt, 0::smallint), m.dref
    from (select 1) one left join lateral (
      select m.* from tk.messages m where m.tenant_id = p_tenant and m.id = p_message limit 1) m on true;
end $f$;

grant insert on tk.audit to tk_engine;
revoke all on function tk.lost_sends, tk.unknown_sends, tk.decide_unknown, tk.decide_delivery from public;
grant execute on function tk.lost_sends, tk.unknown_sends, tk.decide_unknown to tk_sweep;
grant execute on function tk.decide_delivery to tk_engine;
