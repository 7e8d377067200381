-- What recovery decides, and what it is told for that.
--   * A notice that is owed after a lost turn has the id of its obligation (core, `obligationId`): it is owed once, whoever decides again.
--   * An account's option `ledger` says whether its replies are sent again (core, `isLedgerOn`).
--   * Boots that were lost while they ran what had been resumed before are remembered, so that resumes that end processes one
--     after the other stop (core, `breakResumeLoop`).
-- The functions of before stay for coordinators of the version before: they take and tell less.

alter table tk.workers add column resume_lost_at timestamptz;   -- when a turn of it that had been resumed before was taken over
create index workers_resume_lost on tk.workers (resume_lost_at) where resume_lost_at is not null;

-- account_ledger: the option of the account as it stands there; null: not set.
create function tk.account_ledger(p_tenant uuid, p_account uuid) returns text language sql stable security invoker as $f$
  select v.config -> 'options' ->> 'ledger' from tk.accounts g
  cross join lateral (select v.config from tk.account_versions v where v.tenant_id = g.tenant_id and v.account_id = g.id and v.version = g.version limit 1) v
  where g.id = p_account and g.tenant_id = p_tenant limit 1
$f$;

-- lost_turns: as before, and of each turn: its process, the option of the account that it answers, and how long ago, in
-- milliseconds, the last p_takeovers takeovers were in which turns that had been resumed before were lost again; not counting this process.
create function tk.lost_turns(p_limit int, p_takeovers int)
returns table (
  slot smallint, tenant_id uuid, lane_id uuid, turn_id uuid, crashed boolean, lost_ms double precision, age_ms double precision,
  suspended boolean, resume_pending text, resumes smallint, is_machine boolean, failures smallint,
  steps int, last_role text, last_text text, last_ms double precision, limits jsonb, resume jsonb,
  boot_id uuid, ledger text, takeovers_ms double precision[])
language sql volatile security invoker as $f$
  select u.*, z.boot_id, a.ledger, w.ago
  from tk.lost_turns(p_limit) u
  cross join lateral (
    select z.boot_id, z.turn_ords from tk.lanes z where z.slot = u.slot and z.tenant_id = u.tenant_id and z.id = u.lane_id and z.turn_id = u.turn_id limit 1) z
  left join lateral (
    select tk.account_ledger(e.tenant_id, e.account_id) ledger from tk.events e
    where e.slot = u.slot and e.tenant_id = u.tenant_id and e.lane_id = u.lane_id and e.ord = z.turn_ords[1] and e.state < 10 limit 1) a on true
  cross join lateral (
    select coalesce(array_agg((extract(epoch from clock_timestamp() - t.at) * 1000)::double precision), '{}') ago
    from (select distinct o.resume_lost_at at from tk.workers o where o.resume_lost_at is not null and o.boot_id <> z.boot_id
          order by o.resume_lost_at desc limit p_takeovers) t) w
$f$;

-- interrupt_turns: as in 0110. p_notice_id: the id of the notice; a notice that is there already is not owed again. p_again: the
-- turn had been resumed before, and was to be again, so its process counts.
create function tk.interrupt_turns(
  p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_turn uuid[], p_steps int[], p_crashed boolean[], p_event_state smallint[], p_error jsonb[],
  p_pending text[], p_resumes smallint[], p_suspend boolean[], p_owe boolean[], p_notice jsonb[], p_audit text[],
  p_notice_id uuid[], p_again boolean[])
returns table (i int) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_c tid[];
  v_at bigint[];
  v_seq bigint[];
  v_started timestamptz[];
  v_event_state smallint[];
  v_resume_of uuid[];
begin
  select array_agg(z.c), array_agg(q.o) into v_c, v_at
    from (select * from unnest(p_slot, p_tenant, p_lane, p_turn) with ordinality q(s, t, l, n, o) order by s, t, l) q
    cross join lateral (
      select z.ctid c from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.turn_id = q.n
      for no key update skip locked) z;      -- skipped: the next look
  select array_agg(u.c), array_agg(u.a), array_agg(z.turn_seq), array_agg(z.turn_started_at),
         array_agg(case when p_event_state[u.a] = 0 and z.turn_reason in (1, 4) then 1::smallint else p_event_state[u.a] end),
         array_agg(case when p_event_state[u.a] = 1 then z.turn_id when p_event_state[u.a] = 0 and z.turn_reason in (1, 4) then z.turn_resume_of end)
    into v_c, v_at, v_seq, v_started, v_event_state, v_resume_of
    from unnest(v_c, v_at) u(c, a)
    cross join lateral (select z.* from tk.lanes z where z.ctid = u.c limit 1) z
    where (select count(*) from tk.messages m
           where m.slot = z.slot and m.tenant_id = z.tenant_id and m.lane_id = z.id and m.seq = z.turn_seq and m.turn_id = z.turn_id) = p_steps[u.a];
  if v_c is null then
    return;
  end if;
  update tk.events e set failures = e.failures + 1
    from unnest(v_c, v_at) u(c, a) cross join lateral (select z.* from tk.lanes z where z.ctid = u.c limit 1) z
    cross join lateral unnest(z.turn_ords) w(ord)
    where p_crashed[u.a] and e.slot = z.slot and e.tenant_id = z.tenant_id and e.lane_id = z.id and e.ord = w.ord and e.state < 10;
  -- all that one look finds are one takeover, so they get one time
  update tk.workers w set resume_lost_at = now()
    where w.resume_lost_at is null and w.boot_id in (
      select z.boot_id from unnest(v_c, v_at) u(c, a) cross join lateral (select z.boot_id from tk.lanes z where z.ctid = u.c limit 1) z where p_again[u.a]);

  return query
  with q as materialized (select u.* from unnest(v_c, v_at, v_event_state, v_resume_of, v_seq, v_started) with ordinality u(c, a, es, ro, sq, st, o)),
  arg as (
    select array_agg(c order by o) c, array_agg(7::smallint order by o) ts, array_agg(es order by o) es, array_agg(p_error[a] order by o) er, array_agg(ro order by o) ro,
           array_agg(p_pending[a] order by o) pe, array_agg(p_resumes[a] order by o) re, array_agg(p_suspend[a] order by o) su from q),
  x as materialized (
    select x.*, q.a, q.sq, q.st
    from arg cross join lateral tk.end_turns(arg.c, arg.ts, arg.es, arg.er, arg.ro, arg.pe, arg.re, arg.su) x join q on q.o = x.i),
  owed as (
    update tk.messages m
    set seq = x.seq, n = 0, run_id = x.run_id, account_id = x.account_id, started_at = x.st, traceparent = x.traceparent,
        dstate = case when x.account_id is null then 2 else 0 end, dattempt = case when x.account_id is not null then 0 end, drecovered = x.account_id is not null,
        dref = case when x.account_id is null then 'run' end, dat = case when x.account_id is null then now() end
    from x
    where p_owe[x.a] and m.slot = x.slot and m.tenant_id = x.tenant_id and m.lane_id = x.lane_id and m.seq = x.sq and m.turn_id = x.turn_id and m.role = 'assistant'
      and m.n = (select max(y.n) from tk.messages y
                 where y.slot = x.slot and y.tenant_id = x.tenant_id and y.lane_id = x.lane_id and y.seq = x.sq and y.turn_id = x.turn_id)),
  notices as (
    insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, run_id, fence, role, body, account_id, dstate, dattempt, dref, dat, traceparent)
    select x.slot, x.tenant_id, x.lane_id, x.seq, 1, p_notice_id[x.a], x.session_id, x.turn_id, x.run_id, x.fence, 'notice', p_notice[x.a], x.account_id,
           case when x.account_id is null then 2 else 0 end, case when x.account_id is not null then 0 end,
           case when x.account_id is null then 'run' end, case when x.account_id is null then now() end, x.traceparent
    from x where p_notice[x.a] is not null
      and not coalesce((select true from tk.messages y where y.tenant_id = x.tenant_id and y.id = p_notice_id[x.a] limit 1), false)),
  audits as (
    insert into tk.audit (tenant_id, id, actor, action, subject, detail)
    select x.tenant_id, tk.new_id(), 'coordinator', p_audit[x.a], 'lane:' || x.lane_id,
           jsonb_build_object('turnId', x.turn_id, 'runId', x.run_id, 'sessionId', x.session_id, 'resumes', p_resumes[x.a])
    from x where p_audit[x.a] is not null)
  select x.a::int from x;
end $f$;

create or replace function tk.interrupt_turns(
  p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_turn uuid[], p_steps int[], p_crashed boolean[], p_event_state smallint[], p_error jsonb[],
  p_pending text[], p_resumes smallint[], p_suspend boolean[], p_owe boolean[], p_notice jsonb[], p_audit text[])
returns table (i int) language sql volatile security invoker as $f$
  select * from tk.interrupt_turns(p_slot, p_tenant, p_lane, p_turn, p_steps, p_crashed, p_event_state, p_error, p_pending, p_resumes, p_suspend, p_owe,
    p_notice, p_audit, array(select tk.new_id() from unnest(p_slot)), array_fill(false, array[cardinality(p_slot)]))
$f$;

-- owed_sends: what `unknown_sends` finds, and the option of the account.
create function tk.owed_sends(p_limit int)
returns table (slot smallint, tenant_id uuid, lane_id uuid, seq bigint, n smallint, attempt smallint, age_ms double precision, since_ms double precision,
               held boolean, policy text, ledger text)
language sql stable security invoker as $f$
  select u.*, tk.account_ledger(m.tenant_id, m.account_id)
  from tk.unknown_sends(p_limit) u
  cross join lateral (
    select m.tenant_id, m.account_id from tk.messages m
    where m.slot = u.slot and m.tenant_id = u.tenant_id and m.lane_id = u.lane_id and m.seq = u.seq and m.n = u.n limit 1) m
$f$;

revoke all on function tk.account_ledger, tk.lost_turns(int, int), tk.owed_sends from public;
revoke all on function tk.interrupt_turns(
  smallint[], uuid[], uuid[], uuid[], int[], boolean[], smallint[], jsonb[], text[], smallint[], boolean[], boolean[], jsonb[], text[], uuid[], boolean[]) from public;
grant execute on function tk.account_ledger, tk.lost_turns(int, int), tk.owed_sends to tk_sweep;
grant execute on function tk.interrupt_turns(
  smallint[], uuid[], uuid[], uuid[], int[], boolean[], smallint[], jsonb[], text[], smallint[], boolean[], boolean[], jsonb[], text[], uuid[], boolean[]) to tk_sweep;
