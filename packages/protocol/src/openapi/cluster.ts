import { NoQuerySchema } from '../http/fields.ts';
import * as journal from '../http/journal.ts';
import * as operations from '../http/operations.ts';
import type { Operation } from './operation.ts';

const LISTS: readonly Operation[] = (
  [
    ['workers', 'Workers', operations.WorkerListQuerySchema, operations.WorkerListSchema],
    ['partitions', 'Partitions', operations.PartitionListQuerySchema, operations.PartitionListSchema],
    ['lanes', 'Lanes', operations.LaneListQuerySchema, operations.LaneListSchema],
    ['events', 'Events', operations.EventListQuerySchema, operations.EventListSchema],
    ['turns', 'Turns', journal.JournalQuerySchema, journal.EndedTurnListSchema],
    ['audit', 'Audit', journal.JournalQuerySchema, journal.AuditListSchema],
  ] as const
).map(([name, capital, query, answer]) => ({
  method: 'get',
  path: `/admin/v1/${name}`,
  id: `adminList${capital}`,
  summary: `List ${name} of the cluster`,
  door: 'operator',
  query,
  answers: { 200: answer },
}));

const THINGS: readonly Operation[] = (
  [
    ['lanes', 'Lane', 'lane', operations.LaneSchema],
    ['events', 'Event', 'accepted message, by its evt_… or run_…', operations.EventSchema],
  ] as const
).map(([name, capital, one, answer]) => ({
  method: 'get',
  path: `/admin/v1/${name}/{id}`,
  id: `adminGet${capital}`,
  summary: `Read one ${one}`,
  door: 'operator',
  query: NoQuerySchema,
  answers: { 200: answer },
}));

/** The cluster as its rows say it is, for operators. */
export const CLUSTER: readonly Operation[] = [...LISTS, ...THINGS];
