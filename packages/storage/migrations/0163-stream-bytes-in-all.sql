-- What streams are built from (0111, 0161), bounded for all lanes of a read together: a lane has its share of p_bytes, and where
-- the first transactions of some lanes were larger than theirs, those behind come as `cut` from their first row on: their caller
-- asks for them once more. The first lane of a read always gets further. So a read brings as many times p_bytes as it has
-- lanes, and one transaction at most.

-- events_at: as in 0111
create or replace function tk.events_at(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_ord bigint[], p_after bigint[], p_bytes bigint)
returns table (i int, id uuid, ord bigint, kind smallint, state smallint, turn_id uuid, session_id uuid, seq bigint, end_seq bigint, body jsonb,
               error jsonb, accepted_at timestamptz, settled_at timestamptz, cut boolean)
language plpgsql volatile security invoker as $f$
declare
  v_all bigint := p_bytes * (select count(distinct (q.t, q.l)) from unnest(p_tenant, p_lane) q(t, l));
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select y.o::int, y.id, y.ord, y.kind, y.state, y.turn_id, y.session_id, y.seq, y.end_seq, case when y.fits then y.body end,
           y.error, y.accepted_at, y.settled_at, not y.fits
    from (
      select x.*,
        coalesce(sum(x.bytes) over (partition by x.first order by x.told range between unbounded preceding and current row exclude group), 0) < p_bytes
        and coalesce(sum(x.bytes) over (order by x.first, x.told range between unbounded preceding and current row exclude group), 0) < v_all fits
      from (
        select q.o, min(q.o) over (partition by q.s, q.t, q.l) first, greatest(coalesce(e.seq, 9223372036854775807), q.a + 1) told,
               tk.body_bytes(e.body) bytes, e.*
        from unnest(p_slot, p_tenant, p_lane, p_ord, p_after) with ordinality q(s, t, l, n, a, o)
        cross join lateral (
          select e.* from tk.events e where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.ord = q.n limit 1) e) x) y
    order by y.o;
end $f$;

-- ended_aside: as in 0111. What waited and no turn took is told by its end alone, so its words are not read.
create or replace function tk.ended_aside(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[], p_limit int, p_bytes bigint)
returns table (i int, id uuid, ord bigint, kind smallint, state smallint, turn_id uuid, session_id uuid, seq bigint, end_seq bigint, body jsonb,
               error jsonb, accepted_at timestamptz, settled_at timestamptz, cut boolean)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select y.o::int, y.id, y.ord, y.kind, y.state, y.turn_id, y.session_id, y.seq, y.end_seq,
           case when y.seq is null then '{}'::jsonb when y.fits then y.body end, y.error, y.accepted_at, y.settled_at, not y.fits
    from (
      select x.*,
        coalesce(sum(x.bytes) over (partition by x.o order by x.end_seq range between unbounded preceding and current row exclude group), 0) < p_bytes
        and coalesce(sum(x.bytes) over (order by x.o, x.end_seq range between unbounded preceding and current row exclude group), 0)
            < p_bytes * cardinality(p_lane) fits
      from (
        select q.o, case when e.seq is null then 0 else tk.body_bytes(e.body) end bytes, e.*
        from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
        cross join lateral (
          select e.* from tk.events e
          where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.state >= 14 and e.end_seq > q.a and e.end_seq <= q.u
          order by e.end_seq fetch first p_limit rows with ties) e) x) y
    order by y.o, y.end_seq;
end $f$;

-- changed_messages: as in 0161
create or replace function tk.changed_messages(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[], p_limit int, p_bytes bigint)
returns table (i int, id uuid, seq bigint, n smallint, role text, session_id uuid, turn_id uuid, run_id uuid, body jsonb, at timestamptz, cut boolean)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select y.o::int, y.id, y.seq, y.n, y.role, y.session_id, y.turn_id, y.run_id, case when y.fits then y.body end, y.at, not y.fits
    from (
      select x.*,
        coalesce(sum(x.bytes) over (partition by x.o order by x.seq range between unbounded preceding and current row exclude group), 0) < p_bytes
        and coalesce(sum(x.bytes) over (order by x.o, x.seq range between unbounded preceding and current row exclude group), 0)
            < p_bytes * cardinality(p_lane) fits
      from (
        select q.o, tk.body_bytes(m.body) bytes, m.*
        from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
        cross join lateral (
          select m.* from tk.messages m
          where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq > q.a and m.seq <= q.u and m.role in ('assistant', 'notice', 'user')
          order by m.seq fetch first p_limit rows with ties) m) x) y
    order by y.o, y.seq, y.n;
end $f$;
