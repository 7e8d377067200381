import { z } from 'zod';
import { GoodbyeSchema, LiveEventSchema, StopTurnSchema, WatchSchema } from './bus.ts';
import { ClientFrameSchema } from './frames.ts';
import { UploadAnswerSchema } from './http/attachments.ts';
import { ClientTokenRequestSchema, ClientTokenSchema } from './http/client-tokens.ts';
import {
  AccountBodySchema,
  AccountListSchema,
  AgentBodySchema,
  AgentListSchema,
  KeyBodySchema,
  KeyListSchema,
  TenantBodySchema,
  TenantListSchema,
} from './http/configuration.ts';
import { InputAnswerRequestSchema, InputAnswerSchema } from './http/inputs.ts';
import { MessageAnswerSchema, MessageRequestSchema } from './http/messages.ts';
import { EventListSchema, LaneListSchema, PartitionListSchema, WorkerListSchema } from './http/operations.ts';
import { ProblemSchema } from './http/problem.ts';
import { RunListSchema, TimelineSchema } from './http/runs.ts';
import {
  HistorySchema,
  OutboundAnswerSchema,
  OutboundRequestSchema,
  SessionControlSchema,
  SessionListSchema,
  SessionPatchSchema,
} from './http/sessions.ts';
import { ActivationSchema } from './jobs.ts';
import { StreamEventSchema } from './stream.ts';

/** Raised whenever a wire schema changes; `version.test.ts` pins what each version looks like. */
export const WIRE_VERSION = 2;

const WIRES = {
  accountBody: AccountBodySchema,
  accountList: AccountListSchema,
  activation: ActivationSchema,
  agentBody: AgentBodySchema,
  agentList: AgentListSchema,
  clientFrame: ClientFrameSchema,
  clientToken: ClientTokenSchema,
  clientTokenRequest: ClientTokenRequestSchema,
  eventList: EventListSchema,
  goodbye: GoodbyeSchema,
  history: HistorySchema,
  inputAnswer: InputAnswerSchema,
  inputAnswerRequest: InputAnswerRequestSchema,
  keyBody: KeyBodySchema,
  keyList: KeyListSchema,
  laneList: LaneListSchema,
  liveEvent: LiveEventSchema,
  messageAnswer: MessageAnswerSchema,
  messageRequest: MessageRequestSchema,
  outboundAnswer: OutboundAnswerSchema,
  outboundRequest: OutboundRequestSchema,
  partitionList: PartitionListSchema,
  problem: ProblemSchema,
  runList: RunListSchema,
  sessionControl: SessionControlSchema,
  sessionList: SessionListSchema,
  sessionPatch: SessionPatchSchema,
  stopTurn: StopTurnSchema,
  streamEvent: StreamEventSchema,
  tenantBody: TenantBodySchema,
  tenantList: TenantListSchema,
  timeline: TimelineSchema,
  uploadAnswer: UploadAnswerSchema,
  watch: WatchSchema,
  workerList: WorkerListSchema,
};

/** Every schema of what crosses a process boundary as JSON Schema, by name. */
export function wireSchemas(): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(WIRES).map(([name, schema]) => [
      name,
      z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
    ]),
  );
}
