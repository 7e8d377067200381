import type { InputId, LaneRef, MessageId, TenantId, TurnId } from '../ids.ts';
import type { Fence } from './lane.ts';

/** What a turn asks a person. */
export interface Question {
  readonly kind: 'approval' | 'question' | 'form';
  readonly text: string;
  readonly options?: readonly string[];
  /** How long it waits for the answer, milliseconds. */
  readonly waitMs: number;
  /** The model's call that asks; the answer becomes its result. Absent: the agent asks without tools. */
  readonly call?: AskingCall;
}

/** A tool call of a model, as the transcript keeps it. */
export interface AskingCall {
  readonly callId: string;
  readonly name: string;
  /** Body of the `tool_call` entry. */
  readonly body: unknown;
}

export interface AskRequest {
  readonly lane: LaneRef;
  readonly fence: Fence;
  readonly inputId: InputId;
  /** Of the notice that says the question in the conversation. */
  readonly messageId: MessageId;
  /** Of the transcript's entry for the call, if the question has one. */
  readonly stepId: MessageId;
  readonly question: Question;
}

export type AskResult =
  /** `again`: an earlier try did. `seq`: the lane's, of the transaction that asked. */
  | { readonly result: 'ok' | 'again'; readonly seq: string; readonly expiresAt: Date }
  /** The fence pair no longer matches: nothing was written. */
  | { readonly result: 'stale' };

/** How a question ended, for the turn that goes on. */
export interface ResolvedInput {
  readonly outcome: 'answered' | 'expired';
  /** What the person said; null when nobody did. */
  readonly answer: { readonly text: string } | null;
  /** Lane seq of the first claim of the turns that led here: what the lane holds from it on belongs to them. */
  readonly sinceSeq: string;
  /** Questions that these turns asked, this one included. */
  readonly asked: number;
}

export type AnswerResult =
  /** Its turn goes on: wake the lane. */
  | { readonly result: 'answered'; readonly lane: LaneRef; readonly sessionKey: string; readonly seq: string }
  /** Answered before, expired, or withdrawn with its run. */
  | { readonly result: 'closed' | 'missing' };

/** Turns that wait for a person (protocol: ask, answer, expire). While one waits its lane holds nothing and runs nothing. */
export interface InputStore {
  /** Ends the running turn as `waiting`, under guard, and stores the call that asks with it. @throws StoreError */
  ask(request: AskRequest): Promise<AskResult>;
  /** What became of the question that this turn, or the one it resumed, asked; null: it asked none. @throws StoreError */
  resolvedFor(lane: LaneRef, turnId: TurnId): Promise<ResolvedInput | null>;
  /** Compare-and-set: the first answer counts. @throws StoreError */
  answer(tenantId: TenantId, inputId: InputId, answer: { readonly text: string }): Promise<AnswerResult>;
  /** Questions whose time is over; the lanes that go on, at most `limit`. The leader's. @throws StoreError */
  expire(limit: number): Promise<LaneRef[]>;
}

export interface InputReads {
  /** Where a question was asked; null: no such question of this tenant. @throws StoreError */
  laneOf(tenantId: TenantId, inputId: InputId): Promise<LaneRef | null>;
}
