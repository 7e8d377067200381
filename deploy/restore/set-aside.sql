-- Run once over a restored backup, before any process of Turnkeeper starts on it (docs/operations.md, Restore):
--
--   psql "$TURNKEEPER_POSTGRES_URL" -v ON_ERROR_STOP=1 -f deploy/restore/set-aside.sql
--
-- The world went on after the backup: what was in flight in it has most likely been answered since. To do it again would
-- answer people twice, so
--   - messages without an end are parked: `turnkeeper events list --status parked` shows them, `events replay` does one again
--   - questions to people are closed
--   - replies that were not proven delivered are of unknown outcome: each channel's `onUnknown` decides, and what is sent
--     again carries the mark `recovered`
-- Repeating it changes nothing more.

begin;
set local role tk_sweep;

with running as (
  select z.slot, z.tenant_id, z.id, z.turn_id, z.resumes, z.suspended,
         (select count(*) from tk.messages m
          where m.slot = z.slot and m.tenant_id = z.tenant_id and m.lane_id = z.id and m.seq = z.turn_seq and m.turn_id = z.turn_id)::int steps
  from tk.lanes z where z.turn_id is not null),
arg as (
  select array_agg(slot) s, array_agg(tenant_id) t, array_agg(id) l, array_agg(turn_id) n, array_agg(steps) st, array_agg(false) no,
         array_agg(19::smallint) es, array_agg('{"code": "poison"}'::jsonb) er, array_agg(null::text) nothing, array_agg(null::jsonb) silent,
         array_agg(resumes) re, array_agg(suspended) su
  from running)
select count(*) as turns_ended
from arg cross join lateral tk.interrupt_turns(s, t, l, n, st, no, es, er, nothing, re, su, no, silent, nothing);

with waiting as (select distinct slot, tenant_id, lane_id from tk.events where state < 10),
ln as (
  update tk.lanes z set seq = z.seq + 1, resume_of = null, waits_for = null
  from waiting w where z.slot = w.slot and z.tenant_id = w.tenant_id and z.id = w.lane_id
  returning z.slot, z.tenant_id, z.id, z.seq),
ended as (
  update tk.events e set state = 19, error = '{"code": "poison"}', end_seq = ln.seq, settled_at = clock_timestamp()
  from ln where e.slot = ln.slot and e.tenant_id = ln.tenant_id and e.lane_id = ln.id and e.state < 10
  returning e.id)
select count(*) as messages_parked from ended;

with closed as (
  update tk.inputs set state = 'cancelled', resolved_at = clock_timestamp() where state = 'open' returning id)
select count(*) as questions_closed from closed;

-- a resend that carries its mark already goes out as it is; one that had begun was the last
with uncertain as (
  update tk.messages m
  set dstate = 4, dattempt = coalesce(m.dattempt, 0), dboot = null, ddue = null, dat = clock_timestamp()
  where m.dstate = 1 or m.dstate = 0 and not m.drecovered
  returning m.id)
select count(*) as replies_uncertain from uncertain;

commit;
