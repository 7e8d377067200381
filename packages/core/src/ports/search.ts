import type { AgentId, LaneRef, MessageId, SessionId, TenantId } from '../ids.ts';
import type { Page, PageRequest } from './reads.ts';

/** A message of a transcript that holds what was looked for. */
export interface SearchHit {
  readonly messageId: MessageId;
  readonly sessionKey: string;
  readonly sessionId: SessionId;
  readonly agentId: AgentId;
  readonly role: 'user' | 'assistant' | 'notice';
  readonly seq: number;
  /** What stands around the first place that was found. */
  readonly snippet: string;
  readonly createdAt: Date;
}

export interface SearchFilter extends PageRequest {
  /** Texts that a message must hold, all of them, whatever their case. */
  readonly terms: readonly string[];
  readonly agentId?: AgentId | undefined;
  /** Of this conversation alone, and of one session of it. */
  readonly lane?: LaneRef | undefined;
  readonly sessionId?: SessionId | undefined;
}

export interface SearchReads {
  /**
   * Newest first. One call looks at a bounded number of messages: a page of few finds, or none, may lead to another one. What
   * was deleted is never found. @throws StoreError, AppError `invalid_cursor`
   */
  search(tenantId: TenantId, filter: SearchFilter): Promise<Page<SearchHit>>;
}
