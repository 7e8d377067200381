-- Less work for what happens all the time (decision 16).

-- which of these turns run no more, by their lanes' rows? still_running (0018) answers a row for each that does: twenty
-- thousand a second in a worker that has as many at work.
create function tk.ended_turns(p_tenants text, p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_turn uuid[])
returns table (i int) language plpgsql volatile security invoker as $f$
begin
  perform set_config('tk.tenants', p_tenants, true);
  return query
    select q.o::int from unnest(p_slot, p_tenant, p_lane, p_turn) with ordinality q(s, t, l, n, o)
    where (select true from tk.lanes z where z.slot = q.s and z.tenant_id = q.t and z.id = q.l and z.turn_id = q.n limit 1) is null;
end $f$;
revoke all on function tk.ended_turns from public;
grant execute on function tk.ended_turns to tk_engine;

-- A table of some ten thousand rows was vacuumed and analysed about once a minute, for as long as anything was written: a
-- tenth of the server's work under load. Large tables are seen to as before, by their share of dead or new rows.
alter table tk.events set (autovacuum_vacuum_threshold = 20000, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 100000);
alter table tk.messages set (autovacuum_vacuum_threshold = 20000, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 100000);
alter table tk.turns set (autovacuum_vacuum_threshold = 20000, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 100000);
alter table tk.dedupe_keys set (autovacuum_vacuum_threshold = 20000, autovacuum_analyze_threshold = 50000, autovacuum_vacuum_insert_threshold = 100000);
