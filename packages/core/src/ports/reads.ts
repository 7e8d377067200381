import type {
  AgentId,
  BootId,
  EventId,
  InputId,
  LaneId,
  LaneRef,
  MessageId,
  SessionId,
  TenantId,
  TurnId,
} from '../ids.ts';
import type { DeliveryStatus, EventKind, RunStatus, TurnReason, TurnStatus } from '../states.ts';
import type { Source } from './intake.ts';
import type { ReplyBody } from './lane.ts';

/** One page of a keyset list. `nextCursor` is null on the last one. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

export interface PageRequest {
  /** Rows, at least 1. */
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** A run: the fate of one accepted event, as the rows say it at one moment. */
export interface RunRecord {
  readonly runId: EventId;
  readonly tenantId: TenantId;
  readonly lane: LaneRef;
  readonly sessionKey: string;
  readonly sessionId: SessionId | null;
  readonly turnId: TurnId | null;
  /** The question that a `waiting` run waits for. */
  readonly inputId?: InputId | undefined;
  /** What that question asks. */
  readonly question?: RunQuestion | undefined;
  readonly status: RunStatus;
  /** Turns that had it, the running one counted. */
  readonly attempts: number;
  /** The assistant's message of the turn that settled it, with its id and lane seq, for streams. */
  readonly reply: (ReplyBody & { readonly messageId: MessageId; readonly seq: string }) | null;
  readonly errorCode: string | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

/** A question to a person that is open. */
export interface RunQuestion {
  readonly kind: string;
  readonly text: string;
  readonly options?: readonly string[] | undefined;
  readonly expiresAt: Date;
}

export interface RunFilter extends PageRequest {
  readonly agentId?: AgentId | undefined;
  readonly sessionKey?: string | undefined;
  readonly status?: RunStatus | undefined;
}

/** Reads answer only rows of the tenant they are given: another tenant's id is answered like one that never was. */
export interface RunReads {
  /** @throws StoreError */
  get(tenantId: TenantId, runId: EventId): Promise<RunRecord | null>;
  /** Newest first. @throws StoreError, AppError `invalid_cursor` */
  list(tenantId: TenantId, filter: RunFilter): Promise<Page<RunRecord>>;
  /** Runs of many tenants in one statement, for those who wait; answer i belongs to item i. @throws StoreError */
  byIds(runs: readonly { readonly tenantId: TenantId; readonly runId: EventId }[]): Promise<(RunRecord | null)[]>;
}

/** One step in the life of an event. */
export interface TimelineEntry {
  readonly at: Date;
  readonly step: 'accepted' | 'claimed' | 'turn_ended' | 'asked' | 'input_resolved' | 'settled' | 'delivery';
  /** The process that did it. */
  readonly node: BootId | null;
  /** What people call that process; null once its row is gone. */
  readonly nodeName: string | null;
  readonly turnId: TurnId | null;
  readonly attempt: number | null;
  /** Of the turn, of the run, of the delivery, or of the question. */
  readonly status: TurnStatus | RunStatus | DeliveryStatus | InputStatus | null;
  readonly reason: TurnReason | null;
  readonly deliveryId: MessageId | null;
  readonly errorCode: string | null;
  readonly inputId: InputId | null;
  /** What the person was asked. */
  readonly question: string | null;
}

type InputStatus = 'open' | 'answered' | 'expired' | 'cancelled';

export interface Timeline {
  readonly run: RunRecord;
  /** Oldest first. */
  readonly entries: readonly TimelineEntry[];
}

export interface TimelineReads {
  /** @throws StoreError */
  of(tenantId: TenantId, eventId: EventId): Promise<Timeline | null>;
}

/** A conversation and one of its sessions: the current one unless an older was asked for by its id. */
export interface SessionRecord {
  readonly lane: LaneRef;
  readonly sessionKey: string;
  readonly agentId: AgentId;
  readonly agentName: string;
  /** Null until the first turn. */
  readonly sessionId: SessionId | null;
  readonly kind: 'main' | 'group' | 'cron' | 'hook' | 'node' | 'other';
  readonly channel: string;
  readonly source: Source;
  readonly status: 'active' | 'expired' | 'archived';
  readonly label: string | null;
  /** A person has taken over: events are stored, no turns run. */
  readonly paused: boolean;
  /** The next message begins a fresh session. */
  readonly suspended: boolean;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** How a caller names a conversation (surface §1): one generation, or a key and with it the lane's current session. */
export type SessionSelector =
  | { readonly by: 'id'; readonly sessionId: SessionId }
  | { readonly by: 'key'; readonly sessionKey: string; readonly agentId?: AgentId | undefined };

export interface SessionFilter extends PageRequest {
  readonly agentId?: AgentId | undefined;
  readonly kinds?: readonly SessionRecord['kind'][] | undefined;
  readonly channel?: string | undefined;
  /** The source's userId or userIdAlt. */
  readonly user?: string | undefined;
  readonly status?: SessionRecord['status'] | undefined;
  /** Only those used in the last minutes, on the database clock. */
  readonly activeMinutes?: number | undefined;
  /** Text that the key, the label or a name contains, whatever its case. */
  readonly text?: string | undefined;
}

/** A transcript entry: an inbound event that a turn took, or an outbound message. */
export interface HistoryEntry {
  readonly messageId: MessageId;
  readonly seq: number;
  readonly role: 'user' | 'assistant' | 'tool_call' | 'tool_result' | 'notice';
  readonly author: 'human' | 'agent' | 'system';
  readonly body: unknown;
  readonly turnId: TurnId | null;
  readonly createdAt: Date;
}

export interface HistoryRequest extends PageRequest {
  /** Only entries whose seq is lower. */
  readonly before?: number | undefined;
  readonly includeTools: boolean;
}

export interface SessionReads {
  /** `ambiguous`: the key exists under several agents. @throws StoreError */
  find(tenantId: TenantId, selector: SessionSelector): Promise<SessionRecord | 'missing' | 'ambiguous'>;
  /** Newest conversation first. @throws StoreError, AppError `invalid_cursor` */
  list(tenantId: TenantId, filter: SessionFilter): Promise<Page<SessionRecord>>;
  /** The newest `limit` entries of the session, oldest first; the cursor leads to older ones. @throws StoreError, AppError `invalid_cursor` */
  history(tenantId: TenantId, session: SessionRecord, request: HistoryRequest): Promise<Page<HistoryEntry>>;
}

/** For operators: over all tenants, on the role that may. */
export interface WorkerRecord {
  readonly bootId: BootId;
  readonly kind: 'session-worker' | 'coordinator' | 'ingress';
  readonly state: 'live' | 'leaving' | 'gone' | 'dead';
  readonly name: string;
  readonly pid: number | null;
  readonly version: string;
  readonly turnSlots: number;
  readonly partitions: readonly number[];
  readonly leader: boolean;
  readonly startedAt: Date;
  readonly beatAt: Date;
  readonly endedAt: Date | null;
}

export interface PartitionRecord {
  readonly id: number;
  readonly owner: BootId | null;
  readonly ownerState: WorkerRecord['state'] | null;
  readonly epoch: string;
  readonly changedAt: Date;
}

export interface LaneRecord extends LaneRef {
  readonly tenantName: string;
  readonly agentId: AgentId;
  readonly agentName: string;
  readonly sessionKey: string;
  readonly partition: number;
  readonly sessionId: SessionId | null;
  readonly fence: string;
  readonly seq: string;
  readonly turnId: TurnId | null;
  readonly bootId: BootId | null;
  /** Accepted, unfinished events, those of the running turn included. */
  readonly queued: number;
  readonly resumes: number;
  readonly suspended: boolean;
  readonly paused: boolean;
  readonly lastActivityAt: Date;
}

export interface EventRecord {
  readonly eventId: EventId;
  readonly tenantId: TenantId;
  readonly tenantName: string;
  readonly sessionKey: string;
  readonly kind: EventKind;
  readonly status: RunStatus;
  readonly attempts: number;
  readonly acceptedAt: Date;
  readonly acceptedBy: BootId | null;
  readonly startedAt: Date | null;
  readonly settledAt: Date | null;
}

export type LaneState = 'running' | 'queued' | 'resuming' | 'suspended' | 'paused';

/** Every list: @throws StoreError, AppError `invalid_cursor` */
export interface ClusterReads {
  /** Newest first. */
  workers(
    filter: PageRequest & {
      readonly kind?: WorkerRecord['kind'] | undefined;
      readonly state?: WorkerRecord['state'] | 'open' | undefined;
    },
  ): Promise<Page<WorkerRecord>>;
  partitions(filter: PageRequest & { readonly owner?: BootId | undefined }): Promise<Page<PartitionRecord>>;
  /** By slot. */
  lanes(
    filter: PageRequest & { readonly tenantId?: TenantId | undefined; readonly state?: LaneState | undefined },
  ): Promise<Page<LaneRecord>>;
  /** Newest first. */
  events(
    filter: PageRequest & { readonly tenantId?: TenantId | undefined; readonly status?: RunStatus | undefined },
  ): Promise<Page<EventRecord>>;
  /** Of any tenant; null: there is none. */
  lane(laneId: LaneId): Promise<LaneRecord | null>;
  event(eventId: EventId): Promise<EventRecord | null>;
}
