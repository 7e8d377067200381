-- A lost turn whose stored reply is owed has succeeded: like a commit it takes the mark of an earlier interruption away, so that
-- the next turn is not told of what was answered.

-- interrupt_turns: as in 0185. p_clears: the end takes resume_pending away (core, `clearsResume`); else p_pending decides.
create function tk.interrupt_turns(
  p_slot smallint[], p_tenant uuid[], p_lane uuid[], p_turn uuid[], p_steps int[], p_crashed boolean[], p_event_state smallint[], p_error jsonb[],
  p_pending text[], p_resumes smallint[], p_suspend boolean[], p_owe boolean[], p_notice jsonb[], p_audit text[],
  p_notice_id uuid[], p_again boolean[], p_clears boolean[])
returns table (i int) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_done int[];
begin
  v_done := array(select d.i from tk.interrupt_turns(p_slot, p_tenant, p_lane, p_turn, p_steps, p_crashed, p_event_state, p_error,
    p_pending, p_resumes, p_suspend, p_owe, p_notice, p_audit, p_notice_id, p_again) d);
  update tk.lanes z set resume_pending = null from unnest(v_done) d(i)
    where p_clears[d.i] and z.slot = p_slot[d.i] and z.tenant_id = p_tenant[d.i] and z.id = p_lane[d.i] and z.resume_pending is not null;
  return query select * from unnest(v_done);
end $f$;

revoke all on function tk.interrupt_turns(
  smallint[], uuid[], uuid[], uuid[], int[], boolean[], smallint[], jsonb[], text[], smallint[], boolean[], boolean[], jsonb[], text[], uuid[], boolean[], boolean[]) from public;
grant execute on function tk.interrupt_turns(
  smallint[], uuid[], uuid[], uuid[], int[], boolean[], smallint[], jsonb[], text[], smallint[], boolean[], boolean[], jsonb[], text[], uuid[], boolean[], boolean[]) to tk_sweep;
