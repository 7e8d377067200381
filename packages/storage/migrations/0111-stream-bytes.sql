-- What streams are built from, bounded in bytes: beside the functions of 0030 and 0060, which nodes of the version before still
-- call, the same ones with p_bytes for each lane. Rows behind the first that pass it come without their body, as `cut`: the
-- caller's page ends before them. What has the first seq always comes whole, so that every page gets further.

-- body_bytes: of a body as it is sent; only what is stored compressed has to be unpacked for it
create function tk.body_bytes(p_body jsonb) returns bigint language sql stable parallel safe
return case when pg_column_compression(p_body) is null then pg_column_size(p_body) else octet_length(p_body::text) end;

-- events_at: as in 0030. A row counts where its message is told, or, when that was told before p_after, at once.
create function tk.events_at(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_ord bigint[], p_after bigint[], p_bytes bigint)
returns table (i int, id uuid, ord bigint, kind smallint, state smallint, turn_id uuid, session_id uuid, seq bigint, end_seq bigint, body jsonb,
               error jsonb, accepted_at timestamptz, settled_at timestamptz, cut boolean)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select x.o::int, x.id, x.ord, x.kind, x.state, x.turn_id, x.session_id, x.seq, x.end_seq, case when x.fits then x.body end,
           x.error, x.accepted_at, x.settled_at, not x.fits
    from (
      select q.o, e.*, coalesce(sum(tk.body_bytes(e.body)) over (
          partition by q.s, q.t, q.l order by greatest(coalesce(e.seq, 9223372036854775807), q.a + 1)
          range between unbounded preceding and current row exclude group), 0) < p_bytes fits
      from unnest(p_slot, p_tenant, p_lane, p_ord, p_after) with ordinality q(s, t, l, n, a, o)
      cross join lateral (
        select e.* from tk.events e where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.ord = q.n limit 1) e) x
    order by x.o;
end $f$;

-- ended_aside: as in 0060
create function tk.ended_aside(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[], p_limit int, p_bytes bigint)
returns table (i int, id uuid, ord bigint, kind smallint, state smallint, turn_id uuid, session_id uuid, seq bigint, end_seq bigint, body jsonb,
               error jsonb, accepted_at timestamptz, settled_at timestamptz, cut boolean)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select x.o::int, x.id, x.ord, x.kind, x.state, x.turn_id, x.session_id, x.seq, x.end_seq, case when x.fits then x.body end,
           x.error, x.accepted_at, x.settled_at, not x.fits
    from (
      select q.o, e.*, coalesce(sum(tk.body_bytes(e.body)) over (
          partition by q.o order by e.end_seq range between unbounded preceding and current row exclude group), 0) < p_bytes fits
      from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
      cross join lateral (
        select e.* from tk.events e
        where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.state >= 14 and e.end_seq > q.a and e.end_seq <= q.u
        order by e.end_seq fetch first p_limit rows with ties) e) x
    order by x.o, x.end_seq;
end $f$;

-- changed_messages: as in 0060
create function tk.changed_messages(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[], p_limit int, p_bytes bigint)
returns table (i int, id uuid, seq bigint, n smallint, role text, session_id uuid, turn_id uuid, run_id uuid, body jsonb, at timestamptz, cut boolean)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select x.o::int, x.id, x.seq, x.n, x.role, x.session_id, x.turn_id, x.run_id, case when x.fits then x.body end, x.at, not x.fits
    from (
      select q.o, m.*, coalesce(sum(tk.body_bytes(m.body)) over (
          partition by q.o order by m.seq range between unbounded preceding and current row exclude group), 0) < p_bytes fits
      from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
      cross join lateral (
        select m.* from tk.messages m
        where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq > q.a and m.seq <= q.u and m.role in ('assistant', 'notice')
        order by m.seq fetch first p_limit rows with ties) m) x
    order by x.o, x.seq, x.n;
end $f$;

revoke all on function tk.body_bytes from public;
revoke all on function tk.events_at(text, smallint[], uuid[], uuid[], bigint[], bigint[], bigint) from public;
revoke all on function tk.ended_aside(text, smallint[], uuid[], uuid[], bigint[], bigint[], int, bigint) from public;
revoke all on function tk.changed_messages(text, smallint[], uuid[], uuid[], bigint[], bigint[], int, bigint) from public;
grant execute on function tk.body_bytes to tk_engine;
grant execute on function tk.events_at(text, smallint[], uuid[], uuid[], bigint[], bigint[], bigint) to tk_engine;
grant execute on function tk.ended_aside(text, smallint[], uuid[], uuid[], bigint[], bigint[], int, bigint) to tk_engine;
grant execute on function tk.changed_messages(text, smallint[], uuid[], uuid[], bigint[], bigint[], int, bigint) to tk_engine;
