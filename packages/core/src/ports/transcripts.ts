import type { LaneRef, MessageId, SessionId, TurnId } from '../ids.ts';

/** An entry of a session: an inbound event that a turn consumed, or an outbound message. */
export interface TranscriptEntry {
  /** Lane seq of the transaction that put it there. */
  readonly seq: string;
  readonly role: 'user' | 'assistant' | 'tool_call' | 'tool_result' | 'notice';
  readonly body: unknown;
}

/** A session as a turn finds it. */
export interface TranscriptRequest {
  readonly lane: LaneRef;
  readonly sessionId: SessionId;
  /** Lane seq of the turn's claim: only what is older counts. */
  readonly beforeSeq: string;
}

/** An event of a lane, as far as the budgets of loops ask. */
export interface EarlierEvent {
  /** Neither a bot, nor another session, nor the system wrote it. */
  readonly byPerson: boolean;
  /** Its turn said something. */
  readonly answered: boolean;
}

/** What came in a lane before the event. */
export interface EarlierRequest {
  readonly lane: LaneRef;
  readonly ord: string;
  /** How far back it is looked. */
  readonly withinMs: number;
  readonly limit: number;
}

export interface EarlierEvents {
  /** For each request the events that came before, newest first; result i belongs to item i. @throws StoreError */
  earlier(items: readonly EarlierRequest[]): Promise<(readonly EarlierEvent[])[]>;
}

/** What a turn had said so far when somebody stopped it. */
export interface StoppedTurnWords {
  readonly lane: LaneRef;
  readonly turnId: TurnId;
  /** As readers know it from the turn's deltas. */
  readonly messageId: MessageId;
  readonly text: string;
}

export interface StoppedWordsStore {
  /** The seq of the transaction that kept them; null: nobody stopped the turn, its session is gone, or they are kept. @throws StoreError */
  keepWords(words: StoppedTurnWords): Promise<string | null>;
}

export interface TranscriptStore {
  /**
   * For each session its newest entries, at most `limit`, oldest first; result i belongs to item i. Events that wait, or
   * that a command discarded, are not part of it, nor is what only people are shown: the words of a stopped turn, and an
   * answer to a question, which its turn is given. @throws StoreError
   */
  recent(items: readonly TranscriptRequest[], limit: number): Promise<(readonly TranscriptEntry[])[]>;
}
