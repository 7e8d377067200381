-- transcript: the newest entries of a session below a lane seq, oldest first. What a turn took and did not lose to a command
-- (ok, no_reply, error, timeout, merged, steered), and what was answered. People before the agent within one seq.
create function tk.transcript(p_tenants text, p_slot smallint, p_tenant uuid, p_lane uuid, p_session uuid, p_before bigint, p_limit int)
returns table (seq bigint, role text, body jsonb) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
  select x.seq, x.role, x.body
  from (
    select * from (
      (select e.seq, 0 k, e.ord n, 'user' role, e.body from tk.events e
       where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane
         and e.session_id = p_session and e.seq < p_before and e.state in (10, 11, 12, 13, 16, 17)
       order by e.ord desc limit p_limit)
      union all
      (select m.seq, 1, m.n::bigint, m.role, m.body from tk.messages m
       where m.slot = p_slot and m.tenant_id = p_tenant and m.lane_id = p_lane and m.session_id = p_session and m.seq < p_before
       order by m.seq desc, m.n desc limit p_limit)) u
    order by seq desc, k desc, n desc limit p_limit) x
  order by x.seq, x.k, x.n;
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
