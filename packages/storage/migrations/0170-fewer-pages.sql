-- Fewer rows and pages for what happens to every message (decision 16).

-- A claim and a commit each write a new version of their lane's row. In a batch of new lanes all rows of a page are claimed
-- before any is committed: with this room the versions stay in their page, and the five indexes are not written again.
alter table tk.lanes set (fillfactor = 45);

-- How many messages that are owed to a receiver the turn's own end stored; null: to be counted. Who counts what a tenant used
-- need not look for the messages of every turn.
alter table tk.turns add column sent smallint;

-- commit: as in 0156, and it says what it sent.
create or replace function tk.commit(
  p_tenants text, p_boot uuid, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_fence bigint[], p_turn uuid[],
  p_event_state smallint[], p_turn_state smallint[], p_error jsonb[], p_usage jsonb[], p_version int[],
  p_msg uuid[], p_body jsonb[], p_owed smallint[], p_account uuid[])
returns table (i int, result text, seq bigint, more boolean, finished_at timestamptz, dstate smallint)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid[];
  v_now timestamptz;
begin
  perform set_config('tk.tenants', p_tenants, true);
  select array_agg(z.c order by q.o) into v_c
    from (select * from unnest(p_slot, p_tenant, p_lane, p_fence, p_turn) with ordinality q(s, t, l, f, n, o) order by s, t, l) q
    left join lateral (
      select z.ctid c from tk.lanes z
      where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.fence = q.f and z.turn_id = q.n for no key update) z on true;
  v_now := clock_timestamp();
  return query
  with q as materialized (
    select * from unnest(p_slot, p_tenant, p_lane, p_fence, p_turn, p_event_state, p_turn_state, p_error, p_usage, p_version, p_msg, p_body, p_owed, p_account, v_c)
      with ordinality q(s, t, l, f, n, es, ts, er, us, av, m, b, ow, ac, c, o)),
  ln as (
    update tk.lanes z
    set turn_id = null, seq = z.seq + 1,
        resumes = case when q.ts in (1, 2) then 0 else z.resumes end, resume_pending = case when q.ts in (1, 2) then null else z.resume_pending end
    from q where z.ctid = q.c and z.fence = q.f and z.turn_id = q.n
    returning q.*, z.session_id, z.seq, z.agent_id, z.boot_id, z.turn_ords, z.turn_seq, z.turn_started_at, z.turn_reason, z.turn_resume_of),
  own as materialized (
    select ln.*, x.*, (case ln.ow when 1 then case when before.owed then 0 else 1 end else ln.ow end)::smallint ds
    from ln
    cross join lateral (
      select array_agg(e.c order by w.ord) cs, array_agg(e.id order by w.ord) ids, (array_agg(e.traceparent order by w.ord))[1] traceparent
      from unnest(ln.turn_ords) w(ord)
      cross join lateral (
        select e.ctid c, e.id, e.traceparent from tk.events e
        where e.slot = ln.s and e.tenant_id = ln.t and e.lane_id = ln.l and e.ord = w.ord and e.state < 10 limit 1) e) x
    left join lateral (
      select true owed from tk.messages y
      where ln.ow = 1 and y.slot = ln.s and y.tenant_id = ln.t and y.lane_id = ln.l and y.dstate in (0, 1, 4) and not (y.dstate = 4 and y.drecovered) limit 1) before on true),
  ev as (
    update tk.events e
    set state = x.es, attempts = e.attempts + 1, turn_id = x.n, session_id = x.session_id, seq = coalesce(e.seq, x.turn_seq), end_seq = x.seq,
        error = x.er, started_at = x.turn_started_at, settled_at = v_now
    from (select own.*, u.c event_c from own cross join lateral unnest(own.cs) u(c)) x
    where e.ctid = x.event_c and e.state + 0 < 2),      -- "+ 0": not through the index on open events
  tu as (
    insert into tk.turns (slot, tenant_id, lane_id, id, fence, boot_id, state, reason, resume_of, agent_id, agent_version, session_id, ords, event_ids,
                          seq, end_seq, error, usage, started_at, ended_at, sent)
    select s, t, l, n, f, boot_id, ts, turn_reason, turn_resume_of, agent_id, av, session_id, turn_ords, ids, turn_seq, seq, er, us, turn_started_at, v_now,
           case when b is not null and ac is not null and ds is not null then 1 else 0 end from own),
  ms as (
    insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, run_id, fence, role, body, started_at, at, account_id,
                             dstate, dboot, dattempt, dref, dat, traceparent)
    select s, t, l, seq, 0, m, session_id, n, ids[1], f, case when b ? 'code' then 'notice' else 'assistant' end, b, turn_started_at, v_now, ac,
           ds, case ds when 1 then p_boot end, case ds when 0 then 0 when 1 then 1 end, case ds when 2 then 'run' end, case ds when 2 then v_now end, traceparent
    from own where b is not null)
  select o::int, 'ok', seq,
         exists (select 1 from tk.events y where y.slot = own.s and y.tenant_id = own.t and y.lane_id = own.l and y.state < 10 and y.state = 0 and y.ord <> all (own.turn_ords)),
         v_now, case when b is not null then ds end
  from own
  union all
  select q.o::int, case when t.id is null then 'stale' else 'again' end, t.end_seq,
         coalesce((select true from tk.events y where y.slot = q.s and y.tenant_id = q.t and y.lane_id = q.l and y.state < 10 and y.state = 0 limit 1), false),
         t.ended_at,
         case when m.dstate = 1 and (m.dboot <> p_boot or m.dattempt <> 1) then 0::smallint else m.dstate end
  from q
  left join lateral (select t.* from tk.turns t where t.id = q.n and t.state = q.ts limit 1) t on true
  left join lateral (
    select m.dstate, m.dboot, m.dattempt from tk.messages m
    where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq = t.end_seq and m.n = 0 limit 1) m on true
  where q.c is null;
  -- a process that was declared dead ends with its metrics: what it was refused is kept for the leader to count
  if array_position(v_c, null) is not null then
    update tk.workers w set stale_commits = w.stale_commits + cardinality(array_positions(v_c, null)) where w.boot_id = p_boot and w.state = 3;
  end if;
end $f$;

-- count_usage: as in 0142, and what is sent is read where it stands.
create or replace function tk.count_usage(p_tenant uuid, p_rows int, p_lag_ms double precision) returns boolean
language plpgsql volatile security invoker as $f$
declare
  v_from timestamptz;
  v_upto timestamptz := clock_timestamp() - p_lag_ms * interval '1 millisecond';
begin
  insert into tk.usage_progress (tenant_id, counted_to) values (p_tenant, '-infinity') on conflict do nothing;
  select p.counted_to into v_from from tk.usage_progress p where p.tenant_id = p_tenant for update skip locked;
  if not found or v_from >= v_upto then
    return false;
  end if;
  -- each kind is led through by its own index; the one with the most in the least time says how far this call comes
  v_upto := least(
    v_upto,
    (select x.ended_at from tk.turns x where x.tenant_id = p_tenant and x.ended_at > v_from
     order by x.ended_at offset p_rows - 1 limit 1),
    (select x.settled_at from tk.events x where x.tenant_id = p_tenant and x.state >= 14 and x.settled_at > v_from
     order by x.settled_at offset p_rows - 1 limit 1),
    (select x.at from tk.messages x where x.tenant_id = p_tenant and x.turn_id is null and x.at > v_from
     order by x.at offset p_rows - 1 limit 1));
  insert into tk.usage (tenant_id, day, agent_id, measure, amount)
    select p_tenant, (x.at at time zone 'UTC')::date, x.agent_id, x.measure, sum(x.amount)
    from (
      select t.ended_at at, t.agent_id, u.measure, u.amount
      from tk.turns t
      -- conditions on the turn stand inside: there they are looked at before anything is read, in "on" after it
      cross join lateral (                       -- events that a lost turn ended: not every one of it is over
        select count(*) n from unnest(t.ords) w(ord) cross join lateral (
          select 1 from tk.events e
          where e.slot = t.slot and e.tenant_id = t.tenant_id and e.lane_id = t.lane_id and e.ord = w.ord and e.turn_id = t.id and e.state between 10 and 13 limit 1) e
        where t.state not in (1, 2, 3, 4)) ended
      cross join lateral (                       -- of turns whose row does not say it
        select count(*) n from tk.messages m
        where t.sent is null and m.slot = t.slot and m.tenant_id = t.tenant_id and m.lane_id = t.lane_id and m.seq = t.end_seq
          and m.account_id is not null and m.dstate is not null) sent
      cross join lateral (values
        ('turns', case when t.state <> 6 then 1 else 0 end::numeric),
        ('events', (case when t.state in (1, 2, 3, 4) then cardinality(t.ords) else ended.n end)::numeric),
        ('deliveries', coalesce(t.sent, sent.n)::numeric),
        ('tokens_in', coalesce((t.usage ->> 'inputTokens')::numeric, 0)),
        ('tokens_out', coalesce((t.usage ->> 'outputTokens')::numeric, 0))) u(measure, amount)
      where t.tenant_id = p_tenant and t.ended_at > v_from and t.ended_at <= v_upto
      union all                                  -- events that ended without a turn's own end
      select e.settled_at, z.agent_id, 'events', 1
      from tk.events e cross join lateral (select z.agent_id from tk.lanes z where z.slot = e.slot and z.tenant_id = e.tenant_id and z.id = e.lane_id limit 1) z
      where e.tenant_id = p_tenant and e.state >= 14 and e.settled_at > v_from and e.settled_at <= v_upto
      union all                                  -- messages without a turn
      select m.at, z.agent_id, 'deliveries', 1
      from tk.messages m cross join lateral (select z.agent_id from tk.lanes z where z.slot = m.slot and z.tenant_id = m.tenant_id and z.id = m.lane_id limit 1) z
      where m.tenant_id = p_tenant and m.turn_id is null and m.account_id is not null and m.dstate is not null and m.at > v_from and m.at <= v_upto) x
    group by 2, 3, 4 having sum(x.amount) > 0
  on conflict (tenant_id, day, agent_id, measure) do update set amount = tk.usage.amount + excluded.amount;
  update tk.usage_progress p set counted_to = v_upto where p.tenant_id = p_tenant;
  return true;
end $f$;

-- accept: as in 0101; whether the lane exists is read once per lane and not once more per message.
create or replace function tk.accept(
  p_tenants text, p_node uuid, p_slot smallint[], p_tenant uuid[], p_agent uuid[], p_lane uuid[], p_key text[], p_cap int[],
  p_scope uuid[], p_dedupe text[], p_hash bytea[],
  p_event uuid[], p_kind smallint[], p_account uuid[], p_body jsonb[], p_traceparent text[], p_state smallint[], p_error jsonb[])
returns table (i int, result text, ahead int, ord bigint, event_id uuid, slot smallint, lane_id uuid)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_all int := coalesce(cardinality(p_slot), 0);
  v_have int[];          -- unfinished events of the item's lane
  v_near boolean[];      -- the lane might pass its cap with this batch, or its session is expired and a person speaks
  v_wakes boolean[];     -- its session is expired and a person speaks
  v_there boolean[];     -- the lane exists
  v_take boolean[];      -- null: all
  v_new bigint[];        -- positions of stored items
  v_ahead int[];
  v_ord bigint[];
  v_old int;
begin
  perform set_config('tk.tenants', p_tenants, true);
  with q as materialized (
    select * from unnest(p_slot, p_tenant, p_lane, p_cap, p_state, p_kind) with ordinality q(s, t, l, cap, st, k, o)),
  g as (select s, t, l, count(*) filter (where st < 10) n, bool_or(st < 10 and k <> 2) speaks from q group by s, t, l),
  c as materialized (
    select g.*, e.have, g.speaks and coalesce(z.session_state, 0) = 1 wakes, z.session_state is not null there from g cross join lateral (
      select count(*)::int have from tk.events e where e.slot = g.s and e.tenant_id = g.t and e.lane_id = g.l and e.state < 10) e
    left join lateral (select z.session_state from tk.lanes z where z.slot = g.s and z.tenant_id = g.t and z.id = g.l limit 1) z on true)
  select array_agg(c.have order by q.o), array_agg(c.wakes or c.have + c.n > q.cap order by q.o), array_agg(c.wakes order by q.o), array_agg(c.there order by q.o)
    into v_have, v_near, v_wakes, v_there
    from q join c on c.s = q.s and c.t = q.t and c.l = q.l;

  if true = any (v_near) then               -- count again under the lanes' locks: other accepts near the cap wait here
    perform 1 from (select distinct s, t, l from unnest(p_slot, p_tenant, p_lane, v_near) q(s, t, l, near) where near order by s, t, l) q
      cross join lateral (select 1 from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l for no key update) z;
    with q as materialized (
      select q.*, st < 10 and (select true from tk.dedupe_keys d where d.tenant_id = q.t and d.scope = q.a and d.key = q.d limit 1) is null fresh
      from unnest(p_slot, p_tenant, p_lane, p_scope, p_dedupe, p_cap, p_state, v_have, v_near)
        with ordinality q(s, t, l, a, d, cap, st, have, near, o)),
    c as materialized (
      select g.*, e.have from (select distinct s, t, l from q where near) g cross join lateral (
        select count(*)::int have from tk.events e where e.slot = g.s and e.tenant_id = g.t and e.lane_id = g.l and e.state < 10) e)
    select array_agg(coalesce(c.have, q.have) order by q.o),
           array_agg(not fresh or c.have is null or c.have + q.nth <= q.cap order by q.o)
      into v_have, v_take
      from (select q.*, count(*) filter (where fresh) over (partition by s, t, l order by o) nth from q) q
      left join c on c.s = q.s and c.t = q.t and c.l = q.l;
  end if;

  with q as materialized (
    select * from unnest(p_slot, p_tenant, p_agent, p_lane, p_key, p_scope, p_dedupe, p_hash,
                         p_event, p_kind, p_account, p_body, p_traceparent, p_state, p_error, v_have, v_take, v_there)
      with ordinality q(s, t, g, l, k, a, d, h, e, kd, ac, b, tp, st, er, have, take, there, o)),
  d as (
    insert into tk.dedupe_keys (tenant_id, scope, key, body_hash, event_id, slot, lane_id)
    select t, a, d, h, e, s, l from q where take is not false order by t, a, d, o
    on conflict do nothing returning event_id),
  n as materialized (select q.* from q join d on d.event_id = q.e),
  l as (
    -- existing lanes are left out, as the first statement read them: "on conflict" would wait for whoever updates them; one
    -- that retention deleted since then has its events refused by their foreign key, and they come again
    insert into tk.lanes (slot, tenant_id, id, agent_id, key, source)
    select distinct on (s, t, l) s, t, l, g, k, b -> 'source' from n where not there order by s, t, l, o
    on conflict do nothing),
  e as (
    insert into tk.events (slot, tenant_id, lane_id, id, kind, state, account_id, body, error, traceparent, accepted_by, settled_at)
    select s, t, l, e, kd, st, ac, b, er, tp, p_node, case when st >= 10 then now() end from n order by o
    returning id, ord)
  select array_agg(x.o), array_agg(x.ahead), array_agg(x.ord) into v_new, v_ahead, v_ord
    from (select n.o, e.ord, n.have + (count(*) filter (where n.st < 10) over (partition by n.s, n.t, n.l order by n.o))::int - (n.st < 10)::int ahead
          from n join e on e.id = n.e) x;
  return query select u.o::int, 'accepted', u.ahead, u.ord, null::uuid, null::smallint, null::uuid from unnest(v_new, v_ahead, v_ord) u(o, ahead, ord);

  if true = any (v_wakes) then              -- their lanes are locked since before their keys were taken
    with w as materialized (
      select distinct p_slot[n.o] s, p_tenant[n.o] t, p_lane[n.o] l from unnest(v_new) n(o) where v_wakes[n.o] and p_state[n.o] < 10 and p_kind[n.o] <> 2),
    ln as (
      update tk.lanes z set session_state = 0, seq = z.seq + 1, last_activity_at = now()
      from w where z.slot = w.s and z.tenant_id = w.t and z.id = w.l and z.session_state = 1
      returning z.slot, z.tenant_id, z.id, z.session_id, z.seq),
    mk as (
      insert into tk.lane_marks (slot, tenant_id, lane_id, seq, kind, session_id, body)
      select slot, tenant_id, id, seq, 'session.resumed', session_id, '{"reason": "message"}' from ln)
    update tk.sessions s set status = 'active' from ln
      where s.slot = ln.slot and s.tenant_id = ln.tenant_id and s.id = ln.session_id and s.status = 'expired';
  end if;

  if coalesce(cardinality(v_new), 0) < v_all then   -- a statement of its own: its snapshot sees the acceptance that won
    return query
      select q.o::int,
             case when q.take is false then 'lane_full' when d.event_id = q.e then 'accepted' when d.body_hash = q.h then 'duplicate' else 'mismatch' end,
             y.ahead, y.ord, d.event_id, d.slot, d.lane_id
      from unnest(p_tenant, p_scope, p_dedupe, p_hash, p_event, v_take) with ordinality q(t, a, d, h, e, take, o)
      left join lateral (
        select * from tk.dedupe_keys d where d.tenant_id = q.t and d.scope = q.a and d.key = q.d limit 1) d on q.take is not false
      -- the event of the first acceptance, which may be an earlier try of this very call; one that has ended has none before it
      left join lateral (
        select y.ord, case when y.state < 10 then (select count(*)::int from tk.events b
          where b.slot = d.slot and b.tenant_id = q.t and b.lane_id = d.lane_id and b.state < 10 and b.ord < y.ord) else 0 end ahead
        from tk.events y where y.tenant_id = q.t and y.id = d.event_id limit 1) y on true
      where (v_new is null or q.o <> all (v_new)) and (q.take is false or d.event_id is not null);
    get diagnostics v_old = row_count;
    if coalesce(cardinality(v_new), 0) + v_old <> v_all then
      raise exception 'accept: % new + % old <> %', coalesce(cardinality(v_new), 0), v_old, v_all using errcode = '40001';
    end if;
  end if;
end $f$;
