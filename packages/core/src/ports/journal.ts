import type { AgentId, BootId, EventId, SessionId, TenantId, TurnId } from '../ids.ts';
import type { TurnReason, TurnStatus } from '../states.ts';
import type { Page, PageRequest } from './reads.ts';

/** A turn that has ended. Those that run stand in their lanes. */
export interface EndedTurnRecord {
  readonly turnId: TurnId;
  readonly tenantId: TenantId;
  readonly tenantName: string;
  readonly sessionKey: string;
  readonly sessionId: SessionId | null;
  readonly agentId: AgentId;
  readonly agentVersion: number | null;
  readonly status: TurnStatus;
  readonly reason: TurnReason;
  readonly resumeOf: TurnId | null;
  /** The worker that ran it. */
  readonly node: BootId;
  readonly eventIds: readonly EventId[];
  readonly errorCode: string | null;
  readonly usage: Readonly<Record<string, number>> | null;
  readonly startedAt: Date;
  readonly endedAt: Date;
}

/** Something that a person, a key or the coordinator decided. Never holds a secret or a text of a conversation. */
export interface AuditRecord {
  readonly id: string;
  readonly tenantId: TenantId;
  readonly tenantName: string;
  readonly at: Date;
  /** `operator:<keyId>`, `key:<keyId>` or `coordinator`. */
  readonly actor: string;
  readonly action: string;
  readonly subject: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export type JournalFilter = PageRequest & { readonly tenantId?: TenantId | undefined };

/** Both lists: the newest first. @throws StoreError, AppError `invalid_cursor` */
export interface JournalReads {
  turns(filter: JournalFilter): Promise<Page<EndedTurnRecord>>;
  audit(filter: JournalFilter): Promise<Page<AuditRecord>>;
}
