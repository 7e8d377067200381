-- hand_back: a worker gives running turns back, under guard. Without an effect the events are queued again (those of a
-- resume go back to being owed it); with one it is an interrupt without a strike. Returns the items that were still mine,
-- or were handed back by an earlier try.
create function tk.hand_back(
  p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_fence bigint[], p_turn uuid[], p_effect boolean[], p_reason text[])
returns table (i int) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_i bigint[];
  v_c tid[];
  v_event_state smallint[];
  v_resume_of uuid[];
  v_pending text[];
  v_resumes smallint[];
  v_all int;
begin
  perform set_config('tk.tenants', p_tenants, true);
  select array_agg(q.o), array_agg(z.c),
         array_agg((case when q.ef or z.turn_reason = 1 then 1 else 0 end)::smallint),
         array_agg(case when q.ef then q.n when z.turn_reason = 1 then z.turn_resume_of end),
         array_agg(case when q.ef then q.re end),
         array_agg(z.resumes)
    into v_i, v_c, v_event_state, v_resume_of, v_pending, v_resumes
    from (select * from unnest(p_slot, p_tenant, p_lane, p_fence, p_turn, p_effect, p_reason) with ordinality q(s, t, l, f, n, ef, re, o) order by s, t, l) q
    cross join lateral (
      select z.ctid c, z.turn_reason, z.turn_resume_of, z.resumes from tk.lanes z
      where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.fence = q.f and z.turn_id = q.n for no key update) z;
  v_all := coalesce(cardinality(v_c), 0);
  return query select v_i[x.i]::int
    from tk.end_turns(v_c, array_fill(6::smallint, array[v_all]), v_event_state, array_fill(null::jsonb, array[v_all]), v_resume_of, v_pending, v_resumes,
                      array_fill(false, array[v_all])) x;
  return query select q.o::int
    from unnest(p_turn) with ordinality q(n, o)
    cross join lateral (select 1 from tk.turns t where t.id = q.n and t.state = 6 limit 1) t
    where v_i is null or q.o <> all (v_i);
end $f$;

revoke all on function tk.hand_back from public;
grant execute on function tk.hand_back to tk_engine;
