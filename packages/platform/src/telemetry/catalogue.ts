/**
 * Every metric there is: the names are contract (prefix `turnkeeper_`, base units) and `docs/metrics.md` is made from
 * this table. No label has values without a small bound: of tenants, only the leader tells, and only of the busiest.
 */

interface MetricSpec {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: readonly string[];
  readonly buckets?: readonly number[];
}

const FAST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const SLOW_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600];
const BATCH_ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

export const CATALOGUE = {
  build_info: { type: 'gauge', labels: ['service', 'version'], help: 'Always 1; says what runs.' },
  http_request_duration_seconds: {
    type: 'histogram',
    labels: ['route', 'method', 'code'],
    buckets: FAST_SECONDS,
    help: 'Time from the first byte of a request to the last of its answer, without streams and waits.',
  },
  hook_requests_total: { type: 'counter', labels: ['platform', 'outcome'], help: 'Platform webhooks by outcome.' },
  auth_failures_total: { type: 'counter', help: 'Requests refused for their credentials.' },
  rate_limited_total: { type: 'counter', help: 'Requests refused by a rate or a queue limit.' },
  accept_duration_seconds: {
    type: 'histogram',
    labels: ['source'],
    buckets: FAST_SECONDS,
    help: 'Time from the parsed message to its commit in the database.',
  },
  accept_queue_seconds: {
    type: 'histogram',
    buckets: FAST_SECONDS,
    help: 'Part of it that a message waited for its batch.',
  },
  accept_batch_size: { type: 'histogram', buckets: BATCH_ROWS, help: 'Messages per accepting transaction.' },
  events_accepted_total: { type: 'counter', labels: ['kind', 'platform'], help: 'Events stored.' },
  events_duplicate_total: { type: 'counter', help: 'Requests answered with an earlier acceptance.' },
  events_settled_total: { type: 'counter', labels: ['status'], help: 'Events that reached their final status.' },
  events_queued: { type: 'gauge', help: 'Events that wait for a turn, whole cluster (leader only).' },
  text_repairs_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Characters replaced because no store can hold them.',
  },
  activations_total: { type: 'counter', labels: ['outcome'], help: 'Wake-ups by what became of them.' },
  lanes_ready: { type: 'gauge', help: 'Lanes in this worker that wait for a turn slot.' },
  lane_ready_oldest_seconds: {
    type: 'gauge',
    labels: ['partition'],
    help: 'Age of the oldest lane that waits for a turn slot, per partition of this worker.',
  },
  turn_start_delay_seconds: {
    type: 'histogram',
    labels: ['reason'],
    buckets: SLOW_SECONDS,
    help: 'From the acceptance of the oldest event of a turn to its claim.',
  },
  turns_waiting_input: { type: 'gauge', help: 'Turns that wait for a person (leader only).' },
  turn_slots: { type: 'gauge', help: 'Turns that this worker may run at once.' },
  turn_slots_used: { type: 'gauge', help: 'Turn slots in use.' },
  turns_running: { type: 'gauge', help: 'Turns that run in this worker.' },
  turns_total: { type: 'counter', help: 'Turns that ended in this worker.' },
  turn_duration_seconds: {
    type: 'histogram',
    labels: ['runtime', 'status'],
    buckets: SLOW_SECONDS,
    help: 'From claim to commit.',
  },
  turn_time_to_first_token_seconds: {
    type: 'histogram',
    buckets: SLOW_SECONDS,
    help: 'From calling the agent to its first text.',
  },
  claim_batch_size: { type: 'histogram', buckets: BATCH_ROWS, help: 'Lanes per claim.' },
  commit_batch_size: { type: 'histogram', buckets: BATCH_ROWS, help: 'Turns per commit.' },
  commit_duration_seconds: { type: 'histogram', buckets: FAST_SECONDS, help: 'Time of one commit batch.' },
  commits_refused_total: {
    type: 'counter',
    help: 'Commits of turns whose row the store refused, each repetition too. Anything but 0 is a fault: see the log.',
  },
  stale_fence_total: {
    type: 'counter',
    labels: ['at'],
    help: 'Writes refused because the turn was no longer the owner of its lane. Nothing was written. What a process was refused after it had been declared dead is counted by the leader, because that process ends.',
  },
  takeovers_total: {
    type: 'counter',
    labels: ['cause', 'false'],
    help: 'Processes declared dead; those heard of again afterwards are counted once more, with false = "true".',
  },
  takeover_delay_seconds: {
    type: 'histogram',
    buckets: SLOW_SECONDS,
    help: "From a lost worker's last heartbeat to the interruption of its turns.",
  },
  resumes_total: { type: 'counter', labels: ['reason', 'outcome'], help: 'Interrupted turns by what was decided.' },
  events_parked: { type: 'counter', help: 'Turns whose events were set aside because they had failed too often.' },
  loop_stops_total: {
    type: 'counter',
    labels: ['kind'],
    help: 'Turns that were stopped because they were a loop: `tools`, `bots`, `sessions`.',
  },
  lanes_suspended: { type: 'gauge', help: 'Lanes suspended after repeated crashes (leader only).' },
  deliveries_total: { type: 'counter', labels: ['platform', 'state'], help: 'Deliveries that reached a state.' },
  delivery_attempts_total: { type: 'counter', help: 'Sends that were tried.' },
  delivery_delay_seconds: { type: 'histogram', buckets: SLOW_SECONDS, help: 'From commit to proven delivery.' },
  delivery_pending_oldest_seconds: { type: 'gauge', help: 'Age of the oldest reply still owed (leader only).' },
  deliveries_unknown: { type: 'gauge', help: 'Deliveries with an uncertain outcome (leader only).' },
  platform_pause_seconds: {
    type: 'gauge',
    help: 'Longest wait, of any account, that a platform asked for and that is not over (429).',
  },
  webhooks_out_total: { type: 'counter', help: 'Signed webhooks sent.' },
  partitions_owned: { type: 'gauge', help: 'Partitions that this worker owns.' },
  partition_owner_missing_seconds: { type: 'gauge', help: 'Longest time a partition is without owner (leader only).' },
  leader: { type: 'gauge', help: '1 in the coordinator that leads.' },
  sweep_duration_seconds: { type: 'histogram', labels: ['sweep'], buckets: FAST_SECONDS, help: 'Time of one sweep.' },
  sweep_last_success_timestamp_seconds: { type: 'gauge', labels: ['sweep'], help: 'When a sweep last succeeded.' },
  sweep_repairs_total: {
    type: 'counter',
    labels: ['sweep', 'kind'],
    help: 'Things a sweep had to repair; a steady cluster repairs nothing.',
  },
  invariant_violations: {
    type: 'gauge',
    labels: ['invariant'],
    help: 'Rows that broke a promise at the last look, 200 at most (leader only). See docs/recovery.md.',
  },
  store_up: { type: 'gauge', labels: ['store'], help: '1 while a store answers this process.' },
  degraded_mode: { type: 'gauge', labels: ['store'], help: '1 while this process works around an absent store.' },
  db_pool_connections: { type: 'gauge', labels: ['pool', 'state'], help: 'Database connections of this process.' },
  db_statement_duration_seconds: {
    type: 'histogram',
    labels: ['statement'],
    buckets: FAST_SECONDS,
    help: 'Time of a statement, with the wait for the network and without the wait for a connection.',
  },
  streams_open: { type: 'gauge', labels: ['kind'], help: 'Open live streams.' },
  agent_requests_total: { type: 'counter', help: 'Calls of agents.' },
  agent_tokens_total: { type: 'counter', labels: ['direction'], help: 'Tokens that models reported.' },
  tool_calls_total: { type: 'counter', help: 'Tool calls of models that were executed.' },
  tool_call_duration_seconds: {
    type: 'histogram',
    buckets: FAST_SECONDS,
    help: 'Time of one tool call; of a question to a person, until it was stored.',
  },
  egress_blocked_total: {
    type: 'counter',
    labels: ['reason'],
    help: 'Outgoing requests refused before a connection, by the range of the address; `cluster_port` = a port of the cluster itself.',
  },
  stream_replays_total: { type: 'counter', help: 'Streams that went on from a cursor.' },
  stream_deltas_dropped_total: {
    type: 'counter',
    help: 'Live events that were dropped: the bus was away, the text foreign, or the reader too slow.',
  },
  tenant_events_queued: {
    type: 'gauge',
    labels: ['tenant'],
    help: 'Events of a tenant that wait for a turn; the 50 tenants with most (leader only).',
  },
  tenant_turns_running: { type: 'gauge', labels: ['tenant'], help: 'Turns of these tenants that run (leader only).' },
  tenant_oldest_ready_seconds: {
    type: 'gauge',
    labels: ['tenant'],
    help: 'Age of the oldest event of these tenants that no turn has taken (leader only).',
  },
  tenant_quota_used_ratio: {
    type: 'gauge',
    labels: ['tenant'],
    help: 'Share of `queuedPerTenant` that these tenants use (leader only).',
  },
  drain_duration_seconds: { type: 'gauge', help: 'Time the drain has taken, set when it ends.' },
} as const satisfies Record<string, MetricSpec>;

type Catalogue = typeof CATALOGUE;
export type MetricName = keyof Catalogue;
type NamesOf<Type> = { [Name in MetricName]: Catalogue[Name]['type'] extends Type ? Name : never }[MetricName];
export type CounterName = NamesOf<'counter'>;
export type GaugeName = NamesOf<'gauge'>;
export type HistogramName = NamesOf<'histogram'>;

/** The label names of a metric; `never` when it has none. */
export type LabelsOf<Name extends MetricName> = Catalogue[Name] extends { readonly labels: readonly (infer L)[] }
  ? L & string
  : never;
