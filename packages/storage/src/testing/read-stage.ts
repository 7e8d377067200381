import type { BootId, Page, TenantId } from '@turnkeeper/core';
import { type Database, openDatabase } from '../database.ts';
import { ClusterStore } from '../read/cluster-store.ts';
import { DeliveryReadStore } from '../read/delivery-reads.ts';
import { RunStore } from '../read/run-store.ts';
import { SessionStore } from '../read/session-store.ts';
import { TimelineStore } from '../read/timeline-store.ts';
import { openStage, type Stage, type StageLane } from './stage.ts';

/** The stage with everything that reads it. */
export class ReadStage {
  readonly stage: Stage;
  readonly api: Database;
  readonly admin: Database;
  readonly deliveries: DeliveryReadStore;
  readonly runs: RunStore;
  readonly sessions: SessionStore;
  readonly timelines: TimelineStore;
  readonly cluster: ClusterStore;

  constructor(stage: Stage) {
    const { url } = stage.fresh;
    this.stage = stage;
    this.api = openDatabase({ url, role: 'tk_api', poolMax: 2, applicationName: 'test-api' });
    this.admin = openDatabase({ url, role: 'tk_admin', poolMax: 2, applicationName: 'test-admin' });
    this.deliveries = new DeliveryReadStore(this.api);
    this.runs = new RunStore({ api: this.api, engine: stage.engine });
    this.sessions = new SessionStore(this.api);
    this.timelines = new TimelineStore(this.api);
    this.cluster = new ClusterStore(this.admin);
  }

  /** A tenant with the agent that its lanes name. */
  async tenant(name: string): Promise<TenantId> {
    const tenantId = await this.stage.tenant(name);
    await this.agentOf(this.stage.lane(tenantId, ''), 'main');
    return tenantId;
  }

  async agentOf({ tenantId, agentId }: Pick<StageLane, 'tenantId' | 'agentId'>, name: string): Promise<void> {
    await this.stage.rows('insert into tk.agents (id, tenant_id, name, version) values ($1, $2, $3, 1)', [
      agentId,
      tenantId,
      name,
    ]);
  }

  /** One message, one turn, one reply. */
  async exchange(bootId: BootId, lane: StageLane, text: string): Promise<void> {
    await this.stage.send(lane, text);
    await this.stage.commit(bootId, await this.stage.claim(bootId, lane));
  }

  async close(): Promise<void> {
    await Promise.all([this.api.close(), this.admin.close()]);
    await this.stage.close();
  }
}

export async function openReadStage(urls: { readonly postgres: string }): Promise<ReadStage> {
  return new ReadStage(await openStage(urls));
}

/** Every row of a list, page after page. */
export async function allPages<Row>(list: (cursor: string | undefined) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list(cursor);
    rows.push(...page.rows);
    if (page.nextCursor === null) return rows;
    cursor = page.nextCursor;
  }
}
