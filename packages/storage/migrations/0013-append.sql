-- append: steps of running turns (a tool call before it is executed, a result after), under guard with the lane locked
-- for share: a guard that takes no lock would let the step in after a commit or a /stop. ok | again | stale.
create function tk.append(
  p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_fence bigint[], p_turn uuid[],
  p_seq bigint[], p_n smallint[], p_msg uuid[], p_role text[], p_body jsonb[])
returns table (i int, result text) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_x uuid[];
begin
  perform set_config('tk.tenants', p_tenants, true);
  select array_agg(z.x order by q.o) into v_x
    from (select * from unnest(p_slot, p_tenant, p_lane, p_fence, p_turn) with ordinality q(s, t, l, f, n, o) order by s, t, l) q
    left join lateral (
      select z.session_id x from tk.lanes z
      where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.fence = q.f and z.turn_id = q.n for share) z on true;
  return query
  with q as materialized (
    select * from unnest(p_slot, p_tenant, p_lane, p_fence, p_turn, p_seq, p_n, p_msg, p_role, p_body, v_x)
      with ordinality q(s, t, l, f, tn, sq, n, m, r, b, x, o)),
  ins as (
    insert into tk.messages (slot, tenant_id, lane_id, seq, n, id, session_id, turn_id, fence, role, body)
    select s, t, l, sq, n, m, x, tn, f, r, b from q where x is not null order by s, t, l, sq, n
    on conflict do nothing returning id)
  select q.o::int, case when q.x is null then 'stale' when q.m in (select id from ins) then 'ok' else 'again' end from q;
end $f$;

revoke all on function tk.append from public;
grant execute on function tk.append to tk_engine;
