export {
  readGoodbye,
  readHint,
  readLiveEvent,
  readStopTurn,
  readWatch,
  WATCH_LANES_MAX,
  writeGoodbye,
  writeHint,
  writeLiveEvent,
  writeStopTurn,
  writeWatch,
} from './bus.ts';
export { HTTP_ERRORS, RUN_ERRORS } from './errors.ts';
export { errorsPage } from './errors-page.ts';
export {
  type Account,
  type AccountBody,
  AccountBodySchema,
  AccountListSchema,
  AccountSchema,
  type Agent,
  type AgentBody,
  AgentBodySchema,
  AgentListSchema,
  AgentSchema,
  type ConfigChange,
  ConfigChangeSchema,
  type ConfigDocument,
  ConfigDocumentSchema,
  type Key,
  type KeyBody,
  KeyBodySchema,
  KeyListSchema,
  KeyPolicySchema,
  KeySchema,
  type Tenant,
  type TenantBody,
  TenantBodySchema,
  TenantListSchema,
  TenantSchema,
} from './http/configuration.ts';
export {
  CursorParam,
  LIST_LIMIT_DEFAULT,
  limitParam,
  NameSchema,
  ReferenceSchema,
} from './http/fields.ts';
export {
  BODY_BYTES_MAX,
  IdempotencyKeySchema,
  type MessageAnswer,
  MessageAnswerSchema,
  MessageQuerySchema,
  type MessageRequest,
  MessageRequestSchema,
  SessionKeySchema,
  SourceSchema,
} from './http/messages.ts';
export {
  EventListQuerySchema,
  EventListSchema,
  EventSchema,
  type Lane,
  LaneListQuerySchema,
  LaneListSchema,
  LaneSchema,
  type OperatorEvent,
  type Partition,
  PartitionListQuerySchema,
  PartitionListSchema,
  PartitionSchema,
  type Worker,
  WorkerListQuerySchema,
  WorkerListSchema,
  WorkerSchema,
} from './http/operations.ts';
export { type Problem, ProblemSchema } from './http/problem.ts';
export { bodyFaults, type FieldFault, queryFaults } from './http/refusal.ts';
export {
  RUN_STATUSES,
  type Run,
  type RunList,
  RunListQuerySchema,
  RunListSchema,
  RunQuerySchema,
  RunSchema,
  type Timeline,
  TimelineSchema,
} from './http/runs.ts';
export {
  HISTORY_LIMIT_DEFAULT,
  type HistoryMessage,
  HistoryQuerySchema,
  HistorySchema,
  type Session,
  SessionListQuerySchema,
  SessionListSchema,
  SessionQuerySchema,
  SessionSchema,
} from './http/sessions.ts';
export { type Activation, readActivation, WAKE_UP_LANES_MAX, writeActivation } from './jobs.ts';
export { type StreamEvent, type StreamEventData, StreamEventSchema, type StreamEventType } from './stream.ts';
