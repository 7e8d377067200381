import type { InputId, LaneRef, MessageId, TenantId, TurnId } from '../ids.ts';
import type { Fence } from './lane.ts';

/** What a turn asks a person. */
export interface Question {
  readonly kind: 'approval' | 'question' | 'form';
  readonly text: string;
  readonly options?: readonly string[];
  /** How long it waits for the answer, milliseconds. */
  readonly waitMs: number;
}

export interface AskRequest {
  readonly lane: LaneRef;
  readonly fence: Fence;
  readonly inputId: InputId;
  /** Of the notice that says the question in the conversation. */
  readonly messageId: MessageId;
  readonly question: Question;
}

/** How a question ended, for the turn that goes on. */
export interface ResolvedInput {
  readonly outcome: 'answered' | 'expired';
  /** What the person said; null when nobody did. */
  readonly answer: { readonly text: string } | null;
}

export type AnswerResult =
  /** Its turn goes on: wake the lane. */
  | { readonly result: 'answered'; readonly lane: LaneRef }
  /** Answered before, expired, or withdrawn with its run. */
  | { readonly result: 'closed' | 'missing' };

/** Turns that wait for a person (protocol: ask, answer, expire). While one waits its lane holds nothing and runs nothing. */
export interface InputStore {
  /** Ends the running turn as `waiting`, under guard. `again`: an earlier try did. @throws StoreError */
  ask(request: AskRequest): Promise<'ok' | 'again' | 'stale'>;
  /** What became of the question that this turn, or the one it resumed, asked; null: it asked none. @throws StoreError */
  resolvedFor(lane: LaneRef, turnId: TurnId): Promise<ResolvedInput | null>;
  /** Compare-and-set: the first answer counts. @throws StoreError */
  answer(tenantId: TenantId, inputId: InputId, answer: { readonly text: string }): Promise<AnswerResult>;
  /** Questions whose time is over; the lanes that go on, at most `limit`. The leader's. @throws StoreError */
  expire(limit: number): Promise<LaneRef[]>;
}
