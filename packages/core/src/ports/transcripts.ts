import type { LaneRef, SessionId } from '../ids.ts';

/** An entry of a session: an inbound event that a turn consumed, or an outbound message. */
export interface TranscriptEntry {
  /** Lane seq of the transaction that put it there. */
  readonly seq: string;
  readonly role: 'user' | 'assistant' | 'tool_call' | 'tool_result' | 'notice';
  readonly body: unknown;
}

export interface TranscriptStore {
  /**
   * The newest `limit` entries of the session whose seq is lower than `beforeSeq`, oldest first. Events that wait, or
   * that a command discarded, are not part of it. @throws StoreError
   */
  recent(
    lane: LaneRef,
    sessionId: SessionId,
    bounds: { readonly beforeSeq: string; readonly limit: number },
  ): Promise<readonly TranscriptEntry[]>;
}
