/** In-memory ports for the unit tests of this folder. */

import { OpenAccounts } from '@turnkeeper/channels';
import {
  type AcceptItem,
  AcceptMessage,
  type AcceptResult,
  type AccountConfig,
  type AccountId,
  type AgentConfig,
  type AgentId,
  type BootId,
  type CancelResult,
  type Clock,
  type EventId,
  hashApiToken,
  isFinal,
  type KeyRecord,
  type KeyRowId,
  type LaneRef,
  type LiveEvent,
  LOOP_DEFAULTS,
  type Logger,
  noTracer,
  QueuedEstimate,
  type RateAnswer,
  type RunRecord,
  SCOPES,
  StoreError,
  type TenantConfig,
  type TenantId,
} from '@turnkeeper/core';
import { SeededIds } from '@turnkeeper/core/testing';
import { createMetrics } from '@turnkeeper/platform/telemetry';
import type { FastifyInstance } from 'fastify';
import { intakeMetrics } from '../intake/intake-metrics.ts';
import { Targets } from '../intake/targets.ts';
import { RunWaiters } from '../runs/run-waiters.ts';
import { OpenStreams } from '../streams/open-streams.ts';
import { ClientTokens } from '../visitors/client-tokens.ts';
import type { Visitor } from '../visitors/visitor.ts';
import { Access } from './access.ts';
import { registerChatCompletions } from './chat-completions.ts';
import { registerHealth } from './health.ts';
import { registerHooks } from './hooks.ts';
import { jsonReader } from './json-body.ts';
import { registerMessages } from './messages.ts';
import { RateGate } from './rate-gate.ts';
import { type RunParts, registerRuns } from './runs.ts';
import { createHttpServer } from './server.ts';
import { TestLane, testRunStreams } from './test-streams.ts';

const PEPPER = 'pepper of the unit tests';
export const tokenOf = (keyId: string) => `tk_${keyId}_${'S'.repeat(32)}`;
export const TOKEN = tokenOf('ownerkey');
const tenantId = '10000000-0000-7000-8000-000000000000' as TenantId;
export const mainAgentId = '20000000-0000-7000-8000-000000000000' as AgentId;
export const otherAgentId = '20000000-0000-7000-8000-000000000001' as AgentId;
export const hookAccountId = '30000000-0000-7000-8000-000000000000' as AccountId;

const clock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal?.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    }),
};

/** Everything a test may look at or set. */
export class TestPorts {
  readonly keys = new Map<string, KeyRecord>();
  readonly tenants = new Map<string, TenantConfig>();
  readonly runs = new Map<string, RunRecord>();
  readonly accepted: AcceptItem[] = [];
  /** The one lane, for streams. */
  readonly lane = new TestLane();
  readonly logged: unknown[] = [];
  readonly listeners = new Set<(event: LiveEvent) => void>();
  readonly announced: RunRecord[] = [];
  readonly stopped: string[] = [];
  rate: RateAnswer | null = null;
  storeIsAway = false;
  keysAreAway = false;
  keysAsked = 0;
  laneIsFull = false;
  cancelResult: CancelResult['result'] = 'cancelled';

  constructor() {
    this.addKey('ownerkey', {});
    this.setTenant({});
  }

  addKey(keyId: string, changes: Partial<KeyRecord>): void {
    const hash = hashApiToken(PEPPER, tokenOf(keyId));
    const id = `40000000-0000-7000-8000-${String(this.keys.size).padStart(12, '0')}` as KeyRowId;
    this.keys.set(keyId, { id, keyId, tenantId, hash, scopes: SCOPES, expiresAt: null, revokedAt: null, ...changes });
  }

  setTenant(changes: Partial<TenantConfig>): void {
    const limits = { ratePerSecond: null, burst: null, turnSlots: 1, queuedPerLane: 10, queuedPerTenant: 10 };
    this.tenants.set(tenantId, { tenantId, name: 'demo', status: 'active', timeZone: 'UTC', limits, ...changes });
  }

  /** The stored row of an accepted event, changed by what a worker would do. */
  settle(eventId: EventId, changes: Partial<RunRecord>): void {
    const run = this.runs.get(eventId);
    if (run === undefined) throw new Error('no such run in this test');
    this.runs.set(eventId, { ...run, ...changes, finishedAt: new Date() });
  }

  say(event: Omit<LiveEvent, 'at' | 'sessionKey'>): void {
    for (const listener of this.listeners) listener({ at: new Date().toISOString(), sessionKey: 'k', ...event });
  }

  /** A token of a visitor of the agent `main`, without an account. */
  async clientToken(changes: Partial<Visitor>): Promise<string> {
    const tenant = this.tenants.get(tenantId);
    if (tenant === undefined) throw new Error('no tenant in this test');
    const agent = agentOf(mainAgentId, 'main');
    const visitor: Visitor = {
      ...{ kind: 'visitor', tenant, agent, account: null, sub: 'ann', name: null, rooms: ['u_ann'] },
      ...{ expiresAtMs: Date.now() + 60_000, ...changes },
    };
    return new ClientTokens({ ...this.#configs(), pepper: PEPPER, clock }).sign(visitor);
  }

  /** Asks for where lanes stand, as an ingress does once a second, until the signal aborts. */
  poll: (signal: AbortSignal) => Promise<void> = () => Promise.resolve();
  drain: () => void = () => undefined;
  recheck: () => Promise<void> = () => Promise.resolve();

  app(): FastifyInstance {
    const ids = new SeededIds();
    const metrics = createMetrics({ service: 'test', version: '0' });
    const counts = intakeMetrics(metrics);
    const logger = this.#logger();
    const live = {
      connected: true,
      subscribe: (_lane: LaneRef, onEvent: (event: LiveEvent) => void) => {
        this.listeners.add(onEvent);
        return () => this.listeners.delete(onEvent);
      },
    };
    const clientTokens = new ClientTokens({ ...this.#configs(), pepper: PEPPER, clock });
    const access = new Access({
      clientTokens,
      tickets: { redeem: () => Promise.resolve(null) },
      keys: { find: (_kind, keyId) => this.#findKey(keyId), noteUse: () => undefined },
      tenants: this.#tenantConfigs(),
      pepper: PEPPER,
      operatorToken: null,
      clock,
      countFailure: counts.authFailed,
    });
    const runs = this.#runReads();
    const waiters = new RunWaiters({ runs, live, clock, logger, waitersMax: 3 });
    const opened = metrics.gauge('streams_open');
    const openStreams = new OpenStreams({ access, clock, ids, logger, streamsMax: 2, opened });
    const lane = { ...this.#streamParts(), live, clock, logger, openStreams };
    const { streams, poll } = testRunStreams(lane, metrics);
    this.poll = poll;
    this.drain = () => void openStreams.drain(AbortSignal.abort());
    this.recheck = () => openStreams.recheck();
    const queued = new QueuedEstimate();
    const acceptMessage = new AcceptMessage({
      nodeId: '50000000-0000-7000-8000-000000000000' as BootId,
      intake: { accept: (_node, items) => this.#accept(items) },
      wakeUps: { wake: () => undefined },
      queued,
      partitionOf: (slot) => slot % 16,
      clock,
      ids,
      crashPoints: { hit: () => undefined },
    });
    const app = createHttpServer({
      requestIdPrefix: 'req-test',
      logger,
      metrics,
      readJson: jsonReader(counts.repaired),
    });
    registerHealth(app, { state: 'ready' });
    const configs = this.#configs();
    const rates = new RateGate({ take: () => Promise.resolve(this.rate ?? allowed) }, counts.rateLimited);
    const targets = new Targets(configs);
    const shared = {
      ...{ access, rates, targets, acceptMessage, queued, runs, streams, waiters, clock },
      ...{ tracer: noTracer, metrics: counts },
      attachments: { find: () => this.#ask(() => []) },
    };
    registerMessages(app, shared);
    registerChatCompletions(app, { ...shared, ids, logger });
    registerRuns(app, { ...shared, ...this.#runControl() });
    registerHooks(app, { ...shared, ...configs, openAccounts: new OpenAccounts() });
    return app;
  }

  #runControl(): Pick<RunParts, 'timelines' | 'control' | 'signals' | 'announceEnd'> {
    return {
      timelines: { of: async () => null },
      control: { cancelRun: (_tenant, runId) => this.#cancel(runId) },
      signals: { stopTurn: (_tenant, turnId) => this.stopped.push(turnId) },
      announceEnd: (_lane, run) => this.announced.push(run),
    };
  }

  #configs() {
    return { tenants: this.#tenantConfigs(), agents: this.#agentConfigs(), accounts: this.#accountConfigs() };
  }

  #findKey(keyId: string): Promise<KeyRecord | null> {
    this.keysAsked++;
    if (this.keysAreAway)
      return Promise.reject(new StoreError({ failure: 'unknown', state: '08006', message: 'away' }));
    return this.#ask(() => this.keys.get(keyId) ?? null);
  }

  #ask<T>(answer: () => T, isAway = false): Promise<T> {
    if (!this.storeIsAway && !isAway) return Promise.resolve(answer());
    return Promise.reject(new StoreError({ failure: 'unknown', state: '08006', message: 'away' }));
  }

  /** As Postgres, which takes no text with U+0000. */
  #askFor<T>(text: string, answer: () => T): Promise<T> {
    if (!text.includes('\0')) return this.#ask(answer);
    return Promise.reject(new StoreError({ failure: 'row', state: '22021', message: 'no such text' }));
  }

  #accept(items: readonly AcceptItem[]): Promise<AcceptResult[]> {
    return this.#ask(() => items.map((item) => this.#acceptOne(item)));
  }

  #acceptOne(item: AcceptItem): AcceptResult {
    const isSame = ({ dedupe }: AcceptItem) => dedupe.scope === item.dedupe.scope && dedupe.key === item.dedupe.key;
    const first = this.accepted.find(isSame);
    if (first !== undefined) {
      const isEqual = Buffer.compare(first.dedupe.bodyHash, item.dedupe.bodyHash) === 0;
      return isEqual
        ? { result: 'duplicate', eventId: first.eventId, lane: first, position: 0 }
        : { result: 'mismatch', eventId: first.eventId };
    }
    if (this.laneIsFull && item.refused === undefined) return { result: 'lane_full' };
    this.accepted.push(item);
    this.runs.set(item.eventId, runOf(item));
    return { result: 'accepted', position: 0, ord: '1' };
  }

  #runReads() {
    const get = (tenant: TenantId, runId: EventId) => {
      const run = this.runs.get(runId);
      return run?.tenantId === tenant ? run : null;
    };
    return {
      get: (tenant: TenantId, runId: EventId) => this.#ask(() => get(tenant, runId)),
      list: () => this.#ask(() => ({ rows: [...this.runs.values()], nextCursor: null })),
      byIds: (wanted: readonly { readonly tenantId: TenantId; readonly runId: EventId }[]) =>
        this.#ask(() => wanted.map((one) => get(one.tenantId, one.runId))),
    };
  }

  #streamParts() {
    return {
      rows: this.lane,
      runs: this.runs,
      ask: <T>(answer: () => T, isAway: boolean) => this.#ask(answer, isAway),
    };
  }

  #cancel(runId: EventId): Promise<CancelResult> {
    return this.#ask(() => {
      const run = this.runs.get(runId);
      if (run === undefined || this.cancelResult === 'missing') return { result: 'missing' };
      if (isFinal(run.status) || this.cancelResult === 'final') return { result: 'final' };
      this.settle(runId, { status: 'cancelled' });
      return { result: 'cancelled', turnId: null, lane: run.lane };
    });
  }

  #tenantConfigs() {
    return {
      get: (id: TenantId) => this.#ask(() => this.tenants.get(id) ?? null),
      byName: (name: string) =>
        this.#askFor(name, () => [...this.tenants.values()].find((one) => one.name === name) ?? null),
    };
  }

  #agentConfigs() {
    const all = [agentOf(mainAgentId, 'main'), agentOf(otherAgentId, 'other')];
    return {
      get: (_tenant: TenantId, id: AgentId) => this.#ask(() => all.find((one) => one.agentId === id) ?? null),
      byName: (_tenant: TenantId, name: string) =>
        this.#askFor(name, () => all.find((one) => one.name === name) ?? null),
    };
  }

  #accountConfigs() {
    return {
      get: (_tenant: TenantId, id: AccountId) => this.#ask(() => (id === hookAccountId ? hookAccount : null)),
      byName: (_tenant: TenantId, name: string) =>
        this.#askFor(name, () => (name === hookAccount.name ? hookAccount : null)),
      locate: (id: AccountId) => this.#ask(() => (id === hookAccountId ? tenantId : null)),
    };
  }

  #logger(): Logger {
    const logger: Logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: () => undefined,
      failed: (error) => this.logged.push(error),
      child: () => logger,
    };
    return logger;
  }
}

const allowed: RateAnswer = { allowed: true, limit: 20, remaining: 19, resetMs: 100, retryAfterMs: 0 };

function agentOf(agentId: AgentId, name: string): AgentConfig {
  return {
    tenantId,
    tenantName: 'demo',
    agentId,
    name,
    version: 1,
    keyPolicy: {
      name: 'standard',
      groupSessionsPerUser: true,
      threadSessionsPerUser: false,
      dmScope: 'main',
      mainKey: 'main',
      identityLinks: {},
      scope: 'per_user',
    },
    busyMode: 'queue',
    reset: null,
    resetByType: {},
    resetByChannel: {},
    system: null,
    turnMsMax: null,
    inactiveMsMax: null,
    loops: LOOP_DEFAULTS,
    freshnessMs: 3_600_000,
    runtime: { kind: 'echo', delayMs: 0, fail: 0, wordMs: 0 },
    secret: () => Promise.resolve(null),
  };
}

const hookAccount: AccountConfig = {
  tenantId,
  tenantName: 'demo',
  accountId: hookAccountId,
  name: 'deploys',
  version: 1,
  agentId: otherAgentId,
  channel: 'webhook',
  options: {
    verify: 'hmac-sha256-header',
    header: 'x-hub-signature-256',
    prefix: 'sha256=',
    idHeader: 'x-github-delivery',
    template: 'Deploy {{status}} of {{service}}',
  },
  secret: (name) => Promise.resolve(name === 'secret' ? 'route-secret' : null),
};

function runOf(item: AcceptItem): RunRecord {
  return {
    runId: item.eventId,
    tenantId: item.tenantId,
    lane: { slot: item.slot, tenantId: item.tenantId, laneId: item.laneId },
    sessionKey: item.sessionKey,
    sessionId: null,
    turnId: null,
    status: item.refused === undefined ? 'queued' : 'refused',
    attempts: 0,
    reply: null,
    errorCode: item.refused?.code ?? null,
    createdAt: new Date(),
    startedAt: null,
    finishedAt: null,
  };
}
