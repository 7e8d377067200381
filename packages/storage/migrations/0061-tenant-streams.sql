-- What the stream of a tenant is built from: which of its lanes changed since a moment (decision 0009). A lane's row must
-- not carry that moment under an index: claims and commits would no longer be HOT.

create index turns_ended on tk.turns (tenant_id, ended_at);
create index events_settled_aside on tk.events (tenant_id, settled_at) where state >= 14;
create index messages_outbound on tk.messages (tenant_id, at) where turn_id is null;
create index lane_marks_tenant on tk.lane_marks (tenant_id, at);

-- tenant_changes: lanes with a change after a moment (microseconds since 1970), p_limit of each kind of change, oldest first.
-- `upto` is null when that was all; else nothing is missing up to there. The first row has no lane: it tells the moment now.
-- A claim is found by its event's acceptance (the time in its id), or by whatever ended before it in its lane.
create function tk.tenant_changes(p_tenant uuid, p_since bigint, p_limit int)
returns table (slot smallint, lane_id uuid, seq bigint, upto bigint, now bigint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_now bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  v_since timestamptz := timestamptz 'epoch' + p_since * interval '1 microsecond';
begin
  perform set_config('tk.tenants', p_tenant::text, true);
  return query select null::smallint, null::uuid, null::bigint, null::bigint, v_now;
  if p_since is null then
    return;
  end if;
  return query
    with src as materialized (
      (select 1 k, t.slot, t.lane_id, t.ended_at at from tk.turns t where t.tenant_id = p_tenant and t.ended_at > v_since
       order by t.ended_at fetch first p_limit rows with ties)
      union all
      (select 2, e.slot, e.lane_id, timestamptz 'epoch' + ('x' || left(replace(e.id::text, '-', ''), 12))::bit(48)::bigint * interval '1 millisecond'
       from tk.events e
       where e.tenant_id = p_tenant and e.id >= (lpad(to_hex(p_since / 1000), 12, '0') || repeat('0', 20))::uuid
       order by e.id limit p_limit)
      union all
      (select 3, e.slot, e.lane_id, e.settled_at from tk.events e where e.tenant_id = p_tenant and e.state >= 14 and e.settled_at > v_since
       order by e.settled_at fetch first p_limit rows with ties)
      union all
      (select 4, m.slot, m.lane_id, m.at from tk.messages m where m.tenant_id = p_tenant and m.turn_id is null and m.at > v_since
       order by m.at fetch first p_limit rows with ties)
      union all
      (select 5, k.slot, k.lane_id, k.at from tk.lane_marks k where k.tenant_id = p_tenant and k.at > v_since
       order by k.at fetch first p_limit rows with ties)),
    cut as (select min(last) upto from (select k, max(at) last from src group by k having count(*) >= p_limit) x),
    l as (select distinct src.slot, src.lane_id from src, cut where src.at <= coalesce(cut.upto, 'infinity'))
    select l.slot, l.lane_id, z.seq, (extract(epoch from cut.upto) * 1000000)::bigint, v_now
    from l cross join cut
    cross join lateral (select z.seq from tk.lanes z where z.slot = l.slot and z.tenant_id = p_tenant and z.id = l.lane_id limit 1) z;
end $f$;

-- lane_seqs_at: a seq of each lane that nothing after the moment has: the last of what had ended then
create function tk.lane_seqs_at(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_at bigint)
returns table (i int, seq bigint) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_at timestamptz := timestamptz 'epoch' + p_at * interval '1 microsecond';
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int, greatest(t.end_seq, m.seq, k.seq, 0)
    from unnest(p_slot, p_tenant, p_lane) with ordinality q(s, t, l, o)
    left join lateral (
      select t.end_seq from tk.turns t where t.slot = q.s and t.tenant_id = q.t and t.lane_id = q.l and t.ended_at <= v_at order by t.seq desc limit 1) t on true
    left join lateral (
      select m.seq from tk.messages m where m.slot = q.s and m.tenant_id = q.t and m.lane_id = q.l and m.at <= v_at order by m.seq desc, m.n desc limit 1) m on true
    left join lateral (
      select k.seq from tk.lane_marks k where k.slot = q.s and k.tenant_id = q.t and k.lane_id = q.l and k.at <= v_at order by k.seq desc, k.n desc limit 1) k on true;
end $f$;

revoke all on function tk.tenant_changes, tk.lane_seqs_at from public;
grant execute on function tk.tenant_changes, tk.lane_seqs_at to tk_engine;
