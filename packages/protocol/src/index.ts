export {
  readGoodbye,
  readHint,
  readLiveEvent,
  readStopTurn,
  readWatch,
  WATCH_LANES_MAX,
  type Watch,
  writeGoodbye,
  writeHint,
  writeLiveEvent,
  writeStopTurn,
  writeWatch,
} from './bus.ts';
export { HTTP_ERRORS, RUN_ERRORS } from './errors.ts';
export { errorsPage } from './errors-page.ts';
export {
  CLOSE_CODES,
  type ClientFrame,
  ClientFrameSchema,
  type CloseCode,
  FRAME_BYTES_MAX,
  type ServerFrame,
  SOCKET_PROTOCOL,
  SocketQuerySchema,
} from './frames.ts';
export {
  type ShownAttachment,
  ShownAttachmentSchema,
  type UploadAnswer,
  UploadQuerySchema,
} from './http/attachments.ts';
export {
  type Completion,
  type CompletionChunk,
  CompletionChunkSchema,
  type CompletionError,
  CompletionErrorSchema,
  type CompletionRequest,
  CompletionRequestSchema,
  CompletionSchema,
  type CompletionUsage,
  completionText,
  type ModelList,
} from './http/chat-completions.ts';
export {
  CLIENT_TOKEN_SECONDS_MAX,
  ClientClaimsSchema,
  type ClientToken,
  ClientTokenRequestSchema,
  type StreamTicket,
} from './http/client-tokens.ts';
export {
  type Account,
  type AccountBody,
  AccountBodySchema,
  AccountListSchema,
  AccountPatchSchema,
  AccountSchema,
  type Agent,
  type AgentBody,
  AgentBodySchema,
  AgentListSchema,
  type AgentPatch,
  AgentPatchSchema,
  AgentSchema,
  type ConfigChange,
  ConfigChangeSchema,
  type ConfigDocument,
  ConfigDocumentSchema,
  type Key,
  type KeyBody,
  KeyBodySchema,
  KeyListSchema,
  KeyPatchSchema,
  KeyPolicySchema,
  KeySchema,
  NewKeySchema,
  PutTenantQuerySchema,
  type Tenant,
  type TenantBody,
  TenantBodySchema,
  TenantListSchema,
  type TenantPatch,
  TenantPatchSchema,
  type TenantReceipt,
  TenantReceiptSchema,
  TenantSchema,
} from './http/configuration.ts';
export {
  DELIVERY_STATUSES,
  type Delivery,
  DeliveryListQuerySchema,
  DeliveryResolveSchema,
  DeliverySchema,
} from './http/deliveries.ts';
export {
  LIST_LIMIT_DEFAULT,
  NameSchema,
  NoQuerySchema,
  PageQuerySchema,
  ReferenceSchema,
  SessionKeySchema,
  sessionSelector,
} from './http/fields.ts';
export { type InputAnswer, InputAnswerRequestSchema } from './http/inputs.ts';
export { type AuditEntry, type EndedTurn, JournalQuerySchema } from './http/journal.ts';
export { type LimitsAnswer, LimitsAnswerSchema } from './http/limits.ts';
export {
  BODY_BYTES_MAX,
  IdempotencyKeySchema,
  type MessageAnswer,
  MessageAnswerSchema,
  MessageQuerySchema,
  type MessageRequest,
  MessageRequestSchema,
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
export { bodyFaults, type FieldFault, inWords, queryFaults } from './http/refusal.ts';
export {
  RUN_STATUSES,
  type Run,
  type RunList,
  RunListQuerySchema,
  RunListSchema,
  RunQuerySchema,
  RunSchema,
  RunStatusSchema,
  type Timeline,
  TimelineSchema,
} from './http/runs.ts';
export { type SearchAnswer, SearchQuerySchema } from './http/search.ts';
export {
  HISTORY_LIMIT_DEFAULT,
  type HistoryMessage,
  HistoryQuerySchema,
  HistorySchema,
  type OutboundAnswer,
  OutboundAnswerSchema,
  OutboundRequestSchema,
  type Session,
  type SessionControl,
  SessionControlSchema,
  SessionListQuerySchema,
  SessionListSchema,
  SessionPatchSchema,
  SessionQuerySchema,
  SessionResetSchema,
  SessionSchema,
} from './http/sessions.ts';
export { type Usage, UsageQuerySchema, UsageSchema } from './http/usage.ts';
export {
  type Activation,
  readActivation,
  traceparentOfActivation,
  WAKE_UP_LANES_MAX,
  writeActivation,
} from './jobs.ts';
export { openApiDocument } from './openapi/document.ts';
export {
  EventIdSchema,
  RunStreamQuerySchema,
  type StreamCursorQuery,
  type StreamEvent,
  type StreamEventData,
  StreamEventSchema,
  type StreamFilterQuery,
  StreamQuerySchema,
  TenantEventIdSchema,
  TenantStreamQuerySchema,
  writeTenantEventId,
} from './stream.ts';
export { streamingPage } from './streaming-page.ts';
