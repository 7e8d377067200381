-- transcript: the newest entries of sessions below a lane seq, oldest first. What a turn took and did not lose to a command
-- (ok, no_reply, error, timeout, merged, steered), and what was answered. People before the agent within one seq. The newest
-- of the lane are found first and those of other sessions dropped then: else a fresh session would be searched for in all
-- that its lane ever held.
create function tk.transcript(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_session uuid[], p_before bigint[], p_limit int)
returns table (i int, seq bigint, role text, body jsonb) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
  select q.o::int, x.seq, x.role, x.body
  from unnest(p_slot, p_tenant, p_lane, p_session, p_before) with ordinality q(s, t, l, ss, b, o)
  cross join lateral (
    select * from (
      (select e.seq, 0 k, e.ord n, e.session_id, 'user' role, e.body from tk.events e
       where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.seq < q.b and e.state in (10, 11, 12, 13, 16, 17)
       order by e.ord desc limit p_limit)
      union all
      (select m.seq, 1, m.n::bigint, m.session_id, m.role, m.body from tk.messages m
       where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq < q.b
       order by m.seq desc, m.n desc limit p_limit)) u
    where u.session_id = q.ss
    order by seq desc, k desc, n desc limit p_limit) x
  order by q.o, x.seq, x.k, x.n;
end $f$;

-- own_sends: rows that a process marked `sending`, with the time since then. A process asks for its own, to find those whose
-- claim it never heard of. Over all tenants, as tk_sweep and giving out ids only.
create function tk.own_sends(p_boot uuid)
returns table (slot smallint, tenant_id uuid, lane_id uuid, seq bigint, n smallint, attempt smallint, age_ms double precision)
language sql stable security definer set search_path = pg_catalog, pg_temp as $f$
  select m.slot, m.tenant_id, m.lane_id, m.seq, m.n, m.dattempt,
         extract(epoch from clock_timestamp() - coalesce(m.dat, m.at))::double precision * 1000
  from tk.messages m where m.dstate in (0, 1, 4) and m.dstate = 1 and m.dboot = p_boot
$f$;

revoke all on function tk.transcript, tk.own_sends from public;
grant execute on function tk.transcript, tk.own_sends to tk_engine;

grant create on schema tk to tk_sweep;
alter function tk.own_sends owner to tk_sweep;
revoke create on schema tk from tk_sweep;
