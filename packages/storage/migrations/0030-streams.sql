-- What streams are built from: the rows of one lane that changed after a seq. One function per kind of row, batched over
-- lanes, each one round trip; the caller pages by turns and puts the kinds together.

-- Ended without a turn that says so: cancelled, discarded, refused … Few, so the hot path does not pay for it.
create index events_ended_aside on tk.events (slot, tenant_id, lane_id, end_seq) where state >= 14;

-- lane_heads: where lanes stand, and their running turns
create function tk.lane_heads(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[])
returns table (i int, key text, seq bigint, agent_id uuid, session_id uuid, turn_id uuid, turn_ords bigint[], turn_seq bigint,
               turn_started_at timestamptz, turn_reason smallint)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, z.key, z.seq, z.agent_id, z.session_id, z.turn_id, z.turn_ords, z.turn_seq, z.turn_started_at, z.turn_reason
    from unnest(p_slot, p_tenant, p_lane) with ordinality q(s, t, l, o)
    cross join lateral (select z.* from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l limit 1) z;
end $f$;

-- changed_turns: turns that ended after a seq, oldest first, at most p_limit a lane. A lane runs one turn at a time, so they
-- are those claimed after it and the one before them.
create function tk.changed_turns(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_limit int)
returns table (i int, id uuid, state smallint, reason smallint, agent_id uuid, agent_version int, session_id uuid, ords bigint[], event_ids uuid[],
               seq bigint, end_seq bigint, usage jsonb, started_at timestamptz, ended_at timestamptz)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, t.id, t.state, t.reason, t.agent_id, t.agent_version, t.session_id, t.ords, t.event_ids, t.seq, t.end_seq, t.usage,
           t.started_at, t.ended_at
    from unnest(p_slot, p_tenant, p_lane, p_after) with ordinality q(s, t, l, a, o)
    left join lateral (
      select y.seq from tk.turns y where y.slot = q.s and y.tenant_id = q.t and y.lane_id = q.l and y.seq <= q.a
      order by y.seq desc limit 1) before on true
    cross join lateral (
      select t.* from tk.turns t
      where t.slot = q.s and t.tenant_id = q.t and t.lane_id = q.l and t.seq >= coalesce(before.seq, 0)
      order by t.seq limit p_limit) t
    order by q.o, t.seq;
end $f$;

-- events_at: events by their places; i counts the places
create function tk.events_at(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_ord bigint[])
returns table (i int, id uuid, ord bigint, kind smallint, state smallint, turn_id uuid, session_id uuid, seq bigint, end_seq bigint, body jsonb,
               error jsonb, accepted_at timestamptz, settled_at timestamptz)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, e.id, e.ord, e.kind, e.state, e.turn_id, e.session_id, e.seq, e.end_seq, e.body, e.error, e.accepted_at, e.settled_at
    from unnest(p_slot, p_tenant, p_lane, p_ord) with ordinality q(s, t, l, n, o)
    cross join lateral (
      select e.* from tk.events e where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.ord = q.n limit 1) e;
end $f$;

-- ended_aside: events that something other than their turn's commit ended, after one seq and up to another
create function tk.ended_aside(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[])
returns table (i int, id uuid, ord bigint, kind smallint, state smallint, turn_id uuid, session_id uuid, seq bigint, end_seq bigint, body jsonb,
               error jsonb, accepted_at timestamptz, settled_at timestamptz)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, e.id, e.ord, e.kind, e.state, e.turn_id, e.session_id, e.seq, e.end_seq, e.body, e.error, e.accepted_at, e.settled_at
    from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
    cross join lateral (
      select e.* from tk.events e
      where e.slot = q.s and e.tenant_id = q.t and e.lane_id = q.l and e.state >= 14 and e.end_seq > q.a and e.end_seq <= q.u
      order by e.end_seq) e;
end $f$;

-- changed_messages: replies and notices written after one seq and up to another
create function tk.changed_messages(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[])
returns table (i int, id uuid, seq bigint, n smallint, role text, session_id uuid, turn_id uuid, run_id uuid, body jsonb, at timestamptz)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, m.id, m.seq, m.n, m.role, m.session_id, m.turn_id, m.run_id, m.body, m.at
    from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
    cross join lateral (
      select m.* from tk.messages m
      where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.seq > q.a and m.seq <= q.u and m.role in ('assistant', 'notice')
      order by m.seq, m.n) m
    order by q.o, m.seq, m.n;
end $f$;

-- changed_marks: what was done to a lane after one seq and up to another; the table comes with migration 0040
create function tk.changed_marks(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_after bigint[], p_upto bigint[])
returns table (i int, seq bigint, kind text, session_id uuid, body jsonb, at timestamptz)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, k.seq, k.kind, k.session_id, k.body, k.at
    from unnest(p_slot, p_tenant, p_lane, p_after, p_upto) with ordinality q(s, t, l, a, u, o)
    cross join lateral (
      select k.* from tk.lane_marks k
      where k.slot = q.s and k.tenant_id = q.t and k.lane_id = q.l and k.seq > q.a and k.seq <= q.u
      order by k.seq, k.n) k
    order by q.o, k.seq;
end $f$;

-- pending_events: accepted and not yet claimed, oldest first; `before` = unfinished events of the lane before each
create function tk.pending_events(p_tenants text, p_slot smallint, p_tenant uuid, p_lane uuid, p_limit int)
returns table (id uuid, client_id text, before bigint)
language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select x.id, x.client_id, x.before from (
      select e.id, e.body ->> 'platformMessageId' client_id, row_number() over (order by e.ord) - 1 before,
             e.state = 0 and not (z.turn_id is not null and e.ord = any (z.turn_ords)) waits
      from tk.lanes z
      cross join lateral (
        select e.* from tk.events e
        where e.slot = z.slot and e.tenant_id = z.tenant_id and e.lane_id = z.id and e.state < 10 order by e.ord limit p_limit) e
      where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane) x
    where x.waits order by x.before;
end $f$;

-- seq_before_run: everything that concerns the run comes after this seq of its lane
create function tk.seq_before_run(p_tenant uuid, p_event uuid)
returns table (seq bigint) language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query
    select coalesce(e.seq - 1, case when z.turn_id is not null and e.ord = any (z.turn_ords) then z.turn_seq - 1 end, e.end_seq - 1, z.seq)
    from tk.events e
    cross join lateral (select z.* from tk.lanes z where z.slot = e.slot and z.tenant_id = e.tenant_id and z.id = e.lane_id limit 1) z
    where e.tenant_id = p_tenant and e.id = p_event limit 1;
end $f$;

revoke all on function tk.lane_heads, tk.changed_turns, tk.events_at, tk.ended_aside, tk.changed_messages, tk.changed_marks, tk.pending_events, tk.seq_before_run from public;
grant execute on function tk.lane_heads, tk.changed_turns, tk.events_at, tk.ended_aside, tk.changed_messages, tk.changed_marks, tk.pending_events, tk.seq_before_run to tk_engine;
