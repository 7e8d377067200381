-- What the leader's look at the invariants needs: where ids of a time begin, and the repair of lanes.

-- id_since: an id below all that were made since p_since by a clock that is at most ten minutes slow. It finds events by the
-- index of a tenant's ids, which are made when they are accepted; a turn's id, and its reply's, can be a day older than its end.
create function tk.id_since(p_since timestamptz) returns uuid language sql stable as $f$
  select case when p_since < '1971-01-01' then '00000000-0000-0000-0000-000000000000'::uuid
    else (lpad(to_hex((extract(epoch from p_since - interval '10 minutes') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid end
$f$;

-- look_again: whatever still runs or sends in the name of this process, the next looks for lost turns and sends find it. One
-- that is not known any more becomes known, as dead. True when it is neither live nor leaving.
create function tk.look_again(p_boot uuid) returns boolean language plpgsql volatile security invoker as $f$
begin
  insert into tk.workers as w (boot_id, kind, state, name, version, ended_at)
    values (p_boot, 'session-worker', 3, 'unknown', '0', clock_timestamp())
    on conflict (boot_id) do update set swept_at = null where w.state in (2, 3);
  return found;
end $f$;

-- repair_lane: under the lane's lock, whatever breaks an invariant of its open work now is put right; what was put right:
-- looked_for  a turn or a send of a process that has ended is looked for again: the leader's other sweeps decide on it
-- released    it waited for a question that is not open: its turn goes on like one whose question ran out
-- resumed     events that wait for a resume are owed it again; requeued: no turn is known that they could go on from
-- Whatever changes the lane's work raises fence and seq, as a control command does. A lane that is locked is at work: it is left.
create function tk.repair_lane(p_slot smallint, p_tenant uuid, p_lane uuid)
returns table (kind text) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v_lane tk.lanes;
  v_boot uuid;
  v_turn uuid;
  v_kind text;
  v_released boolean := false;
begin
  select z.* into v_lane from tk.lanes z where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane for no key update skip locked;
  if not found then
    return;
  end if;
  for v_boot in
    select v_lane.boot_id where v_lane.turn_id is not null and v_lane.boot_id is not null
    union
    select m.dboot from tk.messages m
    where m.slot = p_slot and m.tenant_id = p_tenant and m.lane_id = p_lane and m.dstate in (0, 1, 4) and m.dstate = 1 and m.dboot is not null
  loop
    if tk.look_again(v_boot) then
      return query select 'looked_for';
    end if;
  end loop;
  if v_lane.turn_id is not null then
    return;
  end if;

  if not exists (select 1 from tk.inputs i where i.slot = p_slot and i.tenant_id = p_tenant and i.id = v_lane.waits_for and i.state = 'open') then
    update tk.events e set state = 1 where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10 and e.state = 2;
    v_released := found or v_lane.waits_for is not null;
    if v_released then
      v_kind := 'released';
    end if;
  end if;

  if v_lane.resume_of is null and exists (
    select 1 from tk.events e where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10 and e.state = 1)
  then
    select t.id into v_turn from tk.events e
      join tk.turns t on t.slot = p_slot and t.tenant_id = p_tenant and t.lane_id = p_lane and t.id = e.turn_id and t.state in (7, 8)
      where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10 and e.state = 1
      order by t.seq desc limit 1;
    if v_turn is null then
      update tk.events e set state = 0 where e.slot = p_slot and e.tenant_id = p_tenant and e.lane_id = p_lane and e.state < 10 and e.state = 1;
      v_kind := 'requeued';
    else
      v_kind := coalesce(v_kind, 'resumed');
    end if;
  end if;
  if v_kind is null then
    return;
  end if;
  update tk.lanes z
    set fence = z.fence + 1, seq = z.seq + 1, resume_of = coalesce(v_turn, z.resume_of),
        waits_for = case when v_released then null else z.waits_for end
    where z.slot = p_slot and z.tenant_id = p_tenant and z.id = p_lane;
  return query select v_kind;
end $f$;

-- repair_lanes: each of them once, in the order of their keys; a row for each thing that was put right
create function tk.repair_lanes(p_slot smallint[], p_tenant uuid[], p_lane uuid[])
returns table (lane_id uuid, kind text) language plpgsql volatile security invoker as $f$
#variable_conflict use_column
declare
  v record;
begin
  for v in select distinct s, t, l from unnest(p_slot, p_tenant, p_lane) q(s, t, l) order by s, t, l loop
    return query select v.l, r.kind from tk.repair_lane(v.s, v.t, v.l) r;
  end loop;
end $f$;

revoke all on function tk.id_since, tk.look_again, tk.repair_lane, tk.repair_lanes from public;
grant execute on function tk.id_since, tk.look_again, tk.repair_lane, tk.repair_lanes to tk_sweep;
