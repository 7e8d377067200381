-- What programs of the version before would tell wrongly is kept from them (decision 15), and how many lanes are forgotten at once
-- is bounded over all tenants.

-- transcript: as in 0023, without what only people are shown: their answers to questions, and the words of stopped turns
create or replace function tk.transcript(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_session uuid[], p_before bigint[], p_limit int)
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
         and m.role <> 'user' and not (m.turn_id is null and m.role = 'assistant' and m.body ? 'cut')
       order by m.seq desc, m.n desc limit p_limit)) u
    where u.session_id = q.ss
    order by seq desc, k desc, n desc limit p_limit) x
  order by q.o, x.seq, x.k, x.n;
end $f$;

-- changed_words: what streams tell, for programs that know of answers and of cut words
create function tk.changed_words(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[], p_limit int, p_bytes bigint)
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
revoke all on function tk.changed_words from public;
grant execute on function tk.changed_words to tk_engine;

-- changed_messages: for programs that know replies and notices alone
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
          where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq > q.a and m.seq <= q.u and m.role in ('assistant', 'notice')
            and not (m.turn_id is null and m.body ? 'cut')
          order by m.seq fetch first p_limit rows with ties) m) x) y
    order by y.o, y.seq, y.n;
end $f$;

-- aged_lanes: as in 0165; lanes that have something to do do not hide those behind them
create or replace function tk.aged_lanes(p_slots int, p_default_days double precision, p_limit int)
returns table (slot smallint, tenant_id uuid, lane_id uuid, max_age_days double precision, idle_days double precision, suspended boolean, works boolean, seen text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query
    select (x.z).slot, (x.z).tenant_id, (x.z).id, x.days, (extract(epoch from now() - (x.z).last_activity_at) / 86400)::double precision,
           (x.z).suspended, tk.lane_works(x.z), (x.z).last_activity_at::text
    from (select n.slot from tk.slots n order by random() limit p_slots) n
    cross join lateral (
      select z, d.days from tk.lanes z
      join tk.tenants t on t.id = z.tenant_id
      cross join lateral (select coalesce((t.limits ->> 'laneDays')::double precision, p_default_days) days) d
      where z.slot = n.slot and d.days > 0 and z.last_activity_at < now() - d.days * interval '1 day'
        and not z.suspended and not z.paused and z.turn_id is null
        and (z.session_id is not null or not tk.lane_holds(z)) and not tk.lane_works(z) limit p_limit) x
    limit p_limit;
end $f$;

-- crowded_tenants: as in 0165, at most p_limit lanes of all tenants together. A page that is cut in the middle of a tenant has its oldest.
create or replace function tk.crowded_tenants(p_limit int)
returns table (tenant_id uuid, lanes_max int, lanes int, slot smallint, lane_id uuid, updated_at timestamptz, works boolean, seen text)
language plpgsql volatile security invoker as $f$
#variable_conflict use_column
begin
  return query
    select t.id, m.lanes, n.lanes, (x.z).slot, (x.z).id, (x.z).last_activity_at, tk.lane_works(x.z), (x.z).last_activity_at::text
    from tk.tenants t
    cross join lateral (select (t.limits ->> 'lanes')::int lanes) m
    cross join lateral (
      select count(*)::int lanes from (
        select from tk.lanes z where z.tenant_id = t.id and z.session_id is not null limit m.lanes + p_limit) z) n
    cross join lateral (
      select z from tk.lanes z
      where n.lanes > m.lanes and z.tenant_id = t.id and z.session_id is not null and not z.suspended and not z.paused and z.turn_id is null
      order by z.last_activity_at limit p_limit) x
    where m.lanes is not null
    limit p_limit;
end $f$;
