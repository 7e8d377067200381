import {
  type AcceptItem,
  type AcceptResult,
  type AccountId,
  type AgentConfig,
  type AgentId,
  type BootId,
  type ClaimedTurn,
  type ClaimRequest,
  type ClaimResult,
  type CommitRequest,
  type CommitResult,
  digestId,
  type EventId,
  type LaneRef,
  laneIdOf,
  type MessageId,
  routeSession,
  type SessionDecision,
  type SessionFacts,
  type SessionId,
  slotOf,
  type TenantConfig,
  type TenantId,
  type TurnId,
  uuidV7,
} from '@turnkeeper/core';
import pg from 'pg';
import { PostgresControlStore } from '../control-store.ts';
import { type Database, openDatabase } from '../database.ts';
import { PostgresDeliveryStore } from '../delivery-store.ts';
import { PostgresIntakeStore } from '../intake-store.ts';
import { PostgresLaneStore } from '../lane-store.ts';
import { PostgresOwnershipStore } from '../ownership-store.ts';
import { PostgresRepairStore } from '../repair-store.ts';
import { type FreshDatabase, freshDatabase } from './fresh-database.ts';

const NOBODY = uuidV7(0, new Uint8Array(10)) as BootId;

/** A conversation of a tenant of the stage. */
export interface StageLane extends LaneRef {
  readonly agentId: AgentId;
  readonly sessionKey: string;
}

/** All stores over one database of its own, and short words for what every test does first. */
export class Stage {
  readonly fresh: FreshDatabase;
  readonly engine: Database;
  readonly sweep: Database;
  readonly intake: PostgresIntakeStore;
  readonly lanes: PostgresLaneStore;
  readonly deliveries: PostgresDeliveryStore;
  readonly control: PostgresControlStore;
  readonly ownership: PostgresOwnershipStore;
  readonly repair: PostgresRepairStore;
  /** As the server's own user, outside every policy. */
  readonly root: pg.Pool;

  constructor(fresh: FreshDatabase) {
    this.fresh = fresh;
    // tests hold locks on purpose, for as long as a loaded machine needs to see others wait
    const settings = { lock_timeout: 20_000, statement_timeout: 25_000 };
    const { url } = fresh;
    this.engine = openDatabase({ url, role: 'tk_engine', poolMax: 4, applicationName: 'test-engine', settings });
    this.sweep = openDatabase({ url, role: 'tk_sweep', poolMax: 2, applicationName: 'test-sweep', settings });
    this.root = new pg.Pool({ connectionString: fresh.url, max: 4 });
    this.root.on('error', () => undefined);
    this.intake = new PostgresIntakeStore(this.engine);
    this.lanes = new PostgresLaneStore(this.engine);
    this.deliveries = new PostgresDeliveryStore(this.engine);
    this.control = new PostgresControlStore(this.engine);
    this.ownership = new PostgresOwnershipStore(this.engine);
    this.repair = new PostgresRepairStore(this.sweep);
  }

  async close(): Promise<void> {
    await Promise.all([this.engine.close(), this.sweep.close(), this.root.end()]);
    await this.fresh.drop();
  }

  async rows<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.root.query<Row>(text, [...values]);
    return rows;
  }

  async tenant(name: string): Promise<TenantId> {
    const id = freshId<TenantId>();
    await this.rows("insert into tk.tenants (id, name, data_key) values ($1, $2, '')", [id, name]);
    return id;
  }

  lane(tenantId: TenantId, sessionKey: string): StageLane {
    const agentId = digestId('agent', tenantId) as AgentId;
    const laneId = laneIdOf(tenantId, agentId, sessionKey);
    return { slot: slotOf(tenantId, 'main', sessionKey), tenantId, laneId, agentId, sessionKey };
  }

  /** A webhook account with these options, of an agent of its own. */
  async account(tenant: TenantId, options: Readonly<Record<string, unknown>>): Promise<AccountId> {
    const [agentId, accountId] = [freshId(), freshId<AccountId>()];
    await this.rows('insert into tk.agents (id, tenant_id, name, version) values ($1, $2, $3, 1)', [
      ...[agentId, tenant, agentId],
    ]);
    await this.rows(
      "insert into tk.accounts (id, tenant_id, agent_id, name, channel, version) values ($1, $2, $3, $4, 'webhook', 1)",
      [accountId, tenant, agentId, accountId],
    );
    await this.rows('insert into tk.account_versions (tenant_id, account_id, version, config) values ($1, $2, 1, $3)', [
      ...[tenant, accountId, JSON.stringify({ options })],
    ]);
    return accountId;
  }

  /** Resolves when a backend that calls `tk.<name>` waits for a lock. */
  async blocked(name: string): Promise<void> {
    const text = `select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like $1`;
    for (const untilMs = Date.now() + 15_000; ; ) {
      if ((await this.rows(text, [`%tk.${name}(%`])).length > 0) return;
      if (Date.now() > untilMs) throw new Error(`${name} does not wait`);
    }
  }

  async worker(): Promise<BootId> {
    const bootId = freshId<BootId>();
    await this.ownership.register({
      bootId,
      kind: 'session-worker',
      name: 'w',
      pid: 1,
      version: '0',
      turnSlots: 10,
    });
    return bootId;
  }

  /** Makes a worker dead the way the leader does, without waiting for its lease. */
  async kill(bootId: BootId): Promise<void> {
    await this.rows('update tk.workers set state = 3, ended_at = clock_timestamp() where boot_id = $1', [bootId]);
  }

  accept(items: readonly AcceptItem[]): Promise<AcceptResult[]> {
    return this.intake.accept(NOBODY, items);
  }

  async send(lane: StageLane, text: string, over: Partial<AcceptItem> = {}): Promise<EventId> {
    const item = message(lane, text, over);
    const [result] = await this.accept([item]);
    if (result?.result !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(result)}`);
    return item.eventId;
  }

  async claim(bootId: BootId, lane: LaneRef, policy: Policy = {}): Promise<ClaimedTurn> {
    const [result] = await this.claims(bootId, [claimOf(lane)], policy);
    if (result?.result !== 'claimed') throw new Error(`not claimed: ${JSON.stringify(result)}`);
    return result;
  }

  /** A worker's way of claiming: what the store asks is decided, by the policy, once. */
  async claims(bootId: BootId, requests: readonly ClaimRequest[], policy: Policy = {}): Promise<ClaimResult[]> {
    const results = await this.lanes.claim(bootId, requests);
    for (const [i, result] of results.entries()) {
      const request = requests[i];
      if (result.result !== 'undecided' || request === undefined) continue;
      const route = await decided(result.facts, policy);
      results.splice(i, 1, ...(await this.lanes.claim(bootId, [{ ...request, route }])));
    }
    return results;
  }

  async commit(bootId: BootId, turn: ClaimedTurn, over: Partial<CommitRequest> = {}): Promise<CommitResult> {
    const [result] = await this.lanes.commit(bootId, [commitOf(turn, over)]);
    if (result === undefined) throw new Error('no answer');
    return result;
  }
}

export interface Policy {
  readonly reset?: AgentConfig['reset'];
  readonly timeZone?: string;
}

/** What a worker decides for an agent of this policy. */
export function decided(facts: SessionFacts, { reset = null, timeZone = 'UTC' }: Policy): Promise<SessionDecision> {
  const only = <Config>(config: object) => ({ get: async () => config as Config });
  const agents = only<AgentConfig>({ reset, resetByType: {}, resetByChannel: {} });
  return routeSession(freshId(), facts, { agents, tenants: only<TenantConfig>({ timeZone }) });
}

export async function openStage(urls: { readonly postgres: string }): Promise<Stage> {
  return new Stage(await freshDatabase(urls));
}

export function freshId<Id extends string>(): Id {
  return uuidV7(Date.now(), crypto.getRandomValues(new Uint8Array(10))) as Id;
}

export function message(lane: StageLane, text: string, over: Partial<AcceptItem> = {}): AcceptItem {
  const eventId = freshId<EventId>();
  return {
    ...lane,
    eventId,
    kind: 'message',
    accountId: null,
    body: { text, source: { platform: 'api', chatType: 'dm', chatId: lane.sessionKey } },
    dedupe: { scope: digestId('route'), key: `evt:${eventId}`, bodyHash: new TextEncoder().encode(text) },
    laneCap: 100,
    traceparent: null,
    ...over,
  };
}

export function claimOf(lane: LaneRef): ClaimRequest {
  return { lane, turnId: freshId<TurnId>(), newSessionId: freshId<SessionId>() };
}

export function commitOf(turn: ClaimedTurn, over: Partial<CommitRequest> = {}): CommitRequest {
  return {
    lane: turn.lane,
    fence: turn.fence,
    status: 'ok',
    messageId: freshId<MessageId>(),
    reply: { text: `re: ${turn.events.map((event) => event.body.text).join()}` },
    error: null,
    usage: null,
    agentVersion: 1,
    owed: { kind: 'proven' },
    ...over,
  };
}
