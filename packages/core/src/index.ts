export {
  type ApiToken,
  hashApiToken,
  makeApiToken,
  parseApiToken,
  TOKEN_RANDOM_BYTES,
} from './access/api-token.ts';
export { KEY_PRESETS, SCOPES, type Scope, scopesOf } from './access/scopes.ts';
export { messageParts } from './attachments/message-parts.ts';
export { ATTACHMENTS_MAX, type NamedAttachments, namedAttachments } from './attachments/named-attachments.ts';
export {
  type Digest,
  ReceiveUpload,
  type Upload,
} from './attachments/receive-upload.ts';
export { Batcher } from './batching/batcher.ts';
export type { Clock, Ids } from './clock.ts';
export { differencesOf, type FieldDifference } from './configs/difference.ts';
export { FreshCache } from './configs/fresh-cache.ts';
export { MissGate } from './configs/miss-gate.ts';
export {
  completeAgent,
  completeKeyPolicy,
  completeLimits,
  hasResets,
  loopsOf,
  runtimeOf,
  type StoredAccount,
  type StoredAgent,
} from './configs/settings.ts';
export {
  type ReplyChannels,
  ReplyDeliverer,
  type SendGate,
  type SentReply,
} from './delivery/deliver-reply.ts';
export { claimOwed, isLedgered, isLedgerOn, obligationId, prunesDelivery } from './delivery/ledger.ts';
export { repairDeliveries } from './delivery/repair-deliveries.ts';
export { type SendOutcome, settleSend } from './delivery/retry.ts';
export {
  AppError,
  type FieldError,
  fieldsBelow,
  fieldsError,
  type HttpErrorCode,
  type RunErrorCode,
  StoreError,
  type StoreFailure,
} from './errors.ts';
export { type AssistantBlock, sanitizeCalls } from './history/calls.ts';
export { provenanceOf } from './history/provenance.ts';
export { repairTranscript } from './history/repair.ts';
export { historyWindow } from './history/window.ts';
export {
  type AccountId,
  type AgentId,
  type AttachmentId,
  type BootId,
  digestId,
  type EventId,
  formatId,
  type InputId,
  isUuid,
  type KeyRowId,
  type LaneId,
  type LaneRef,
  laneIdOf,
  type MessageId,
  parseId,
  type SessionId,
  SLOT_COUNT,
  slotOf,
  type TenantId,
  type TurnId,
  uuidV7,
} from './ids.ts';
export {
  type Acceptance,
  AcceptMessage,
  type InboundMessage,
} from './intake/accept-message.ts';
export { QueuedEstimate } from './intake/queued-estimate.ts';
export { commandOf, TypedCommands } from './intake/typed-commands.ts';
export { computeKey } from './keys/compute.ts';
export { contextBelongs, contextKey, echoKey, echoTarget } from './keys/echo.ts';
export { normalizeId, openclawKey, systemKey, threadKey } from './keys/openclaw.ts';
export { keyAlias, storeKey } from './keys/openclaw-aliases.ts';
export { parseKey } from './keys/parse.ts';
export { roomFromInbound } from './keys/rooms.ts';
export { isSharedLane, standardKey } from './keys/standard.ts';
export { webChatKey, webChatPlatform } from './keys/web-chat.ts';
export { OWN_ROOM, webChatSource } from './keys/web-chat-source.ts';
export { canonicalWhatsapp, normalizeWhatsapp, whatsappJid } from './keys/whatsapp.ts';
export { evictAboveCap, evictUnderPressure, memoryBudgetMb } from './memory/warm-state.ts';
export { decodeCursor, encodeCursor } from './paging/cursor.ts';
export { NOBODY, Places } from './places.ts';
export {
  ATTACHMENT_KINDS,
  type AttachmentBytes,
  type AttachmentKind,
  type AttachmentPiece,
  type AttachmentRecord,
  type AttachmentRecords,
  type BeginUpload,
  type FinishResult,
  type FinishUpload,
} from './ports/attachments.ts';
export type {
  AccountDraft,
  AccountRow,
  Actor,
  AgentDraft,
  AgentRow,
  ConfigChange,
  DeletionReceipt,
  KeyChange,
  KeyDraft,
  KeyRow,
  KeyWrites,
  NewKey,
  OperatorWrites,
  PutTenantOptions,
  TenantDraft,
  TenantRow,
  TenantWrites,
  WriteOptions,
  Written,
} from './ports/config-writes.ts';
export {
  type AccountConfig,
  type AccountConfigs,
  AGENT_TOOLS,
  type AgentConfig,
  type AgentConfigs,
  type AgentRuntimeConfig,
  type KeyLookup,
  type KeyRecord,
  type TenantConfig,
  type TenantConfigs,
  type TenantLimits,
  type WebChatAccounts,
} from './ports/configs.ts';
export type {
  CancelResult,
  ControlRequest,
  ControlResult,
  ControlStore,
  LaneSession,
  OutboundRequest,
  OutboundResult,
  TypedCommand,
  TypedCommandResult,
} from './ports/control.ts';
export type {
  DecidedDelivery,
  DeliveryControl,
  DeliveryFilter,
  DeliveryReads,
  DeliveryRecord,
  DeliveryVerb,
} from './ports/deliveries.ts';
export type {
  ClaimDue,
  DeliverySettlement,
  DeliveryStore,
  DueDelivery,
  OwnSend,
  PausedAccount,
  SeenMarks,
} from './ports/delivery.ts';
export type {
  AnswerResult,
  AskingCall,
  AskRequest,
  AskResult,
  InputReads,
  InputStore,
  Question,
  ResolvedInput,
} from './ports/inputs.ts';
export type {
  AcceptItem,
  AcceptResult,
  EventBody,
  IntakeStore,
  QueuedCount,
  Source,
} from './ports/intake.ts';
export type { InvariantKind, Invariants, Violation } from './ports/invariants.ts';
export type { AuditRecord, EndedTurnRecord, JournalFilter, JournalReads } from './ports/journal.ts';
export type {
  ClaimedEvent,
  ClaimedTurn,
  ClaimRequest,
  ClaimResult,
  CommitRequest,
  CommitResult,
  Fence,
  HandBackRequest,
  LaneStore,
  ReadyLane,
  RunningTurn,
  SessionDecision,
  SessionFacts,
  StepAppend,
} from './ports/lane.ts';
export type { OwnershipStore, PartitionRow, WorkerRow } from './ports/ownership.ts';
export type { ParkedEvent, ParkedEvents } from './ports/parked-events.ts';
export type { RateAnswer, RateLimit, RateLimits } from './ports/rates.ts';
export type {
  ClusterReads,
  EventRecord,
  HistoryEntry,
  HistoryRequest,
  LaneRecord,
  LaneState,
  Page,
  PageRequest,
  PartitionRecord,
  RunFilter,
  RunQuestion,
  RunReads,
  RunRecord,
  SessionFilter,
  SessionReads,
  SessionRecord,
  SessionSelector,
  Timeline,
  TimelineEntry,
  TimelineReads,
  WorkerRecord,
} from './ports/reads.ts';
export type {
  AgedLane,
  AgedSession,
  ClusterLoad,
  CrowdedTenant,
  IdleSession,
  LaneRetention,
  LostTurn,
  RecoveryLimits,
  RepairStore,
  SessionAging,
  TenantErasure,
  TenantLoad,
  TurnVerdict,
  UnknownSend,
  UnknownVerdict,
} from './ports/repair.ts';
export type { Counter, CrashPoints, Gauge, Histogram, LogFields, Logger } from './ports/runtime.ts';
export type { KeyWrap } from './ports/sealing.ts';
export type { SearchFilter, SearchHit, SearchReads } from './ports/search.ts';
export type {
  ControlSignals,
  LaneLocks,
  LiveEvent,
  LiveStream,
  LockAnswer,
  Snapshots,
  WakeUp,
  WakeUps,
} from './ports/signals.ts';
export type { TenantSlots } from './ports/slots.ts';
export type {
  DurableEvent,
  LaneHead,
  LanePage,
  Micros,
  PendingEvent,
  RunInStream,
  StreamReads,
  TenantPage,
} from './ports/streams.ts';
export type { TicketUses } from './ports/tickets.ts';
export { noTracer, type Span, type Traceparent, type Tracer, traced } from './ports/tracing.ts';
export type {
  EarlierEvent,
  EarlierEvents,
  EarlierRequest,
  StoppedTurnWords,
  StoppedWordsStore,
  TranscriptEntry,
  TranscriptRequest,
  TranscriptStore,
} from './ports/transcripts.ts';
export type { UsageCounting, UsageFilter, UsageReads, UsageRecord } from './ports/usage.ts';
export { DatabaseHealth } from './recovery/database-health.ts';
export { drainStep, handOverReason } from './recovery/drain.ts';
export { decideInterrupted } from './recovery/interrupted.ts';
export { Leadership } from './recovery/leadership.ts';
export { interruptLostTurns, RESUME_BREAKER, type ResumeBreaker } from './recovery/lost-turns.ts';
export { OwnerlessPartitions } from './recovery/ownerless-partitions.ts';
export { clearsResume, resumeBlocker, type TurnOutcome } from './recovery/resume.ts';
export { breakResumeLoop, clearResume, markResume } from './recovery/resume-flag.ts';
export { RESUME_NOTE_TEXTS, resumeNote } from './recovery/resume-note.ts';
export { isSilent } from './recovery/silence.ts';
export { RECOVERY_DEFAULTS, strike } from './recovery/strikes.ts';
export { mayClearAgain, ownsMark } from './recovery/turn-mark.ts';
export { NAME_PATTERN, parseReference, type Reference } from './reference.ts';
export { type Repeated, repeat } from './repeat.ts';
export { routeAgent } from './routing/agent-route.ts';
export { resetSession, switchSession } from './routing/boundaries.ts';
export { overCap, prunesLane } from './routing/lane-retention.ts';
export { LIFECYCLE_LIMITS, mayArchive, nextStatus, touchSession } from './routing/lifecycle.ts';
export { chooseResetPolicy, decideReset } from './routing/reset-policy.ts';
export { decideRoute } from './routing/route.ts';
export { afterTrigger } from './routing/text-commands.ts';
export { searchTerms } from './search/terms.ts';
export type { AgentCall, AgentReply, AgentRuntime } from './session/agent.ts';
export { combineWakeUps } from './session/combine-wake-ups.ts';
export { TurnKeeper } from './session/keep-turns.ts';
export { LaneBatches } from './session/lane-batches.ts';
export { Lease } from './session/lease.ts';
export { HOPS_HEADER, hopsIn, LOOP_DEFAULTS } from './session/loop-budget.ts';
export { PartitionPlanner } from './session/partition-plan.ts';
export { routeSession } from './session/route-session.ts';
export { type RunAgentOptions, runAgent } from './session/run-agent.ts';
export { LaneRunner } from './session/run-lane.ts';
export type { LaneOwnership } from './session/run-lane-options.ts';
export { Scheduler } from './session/scheduler.ts';
export { StoppedWords } from './session/stopped-words.ts';
export { TenantCaps } from './session/tenant-caps.ts';
export { isToolLoop, type ToolStep } from './session/tool-loop.ts';
export { type RunningAgentTurn, type TurnEnd, Turns } from './session/turn.ts';
export { TurnStream } from './session/turn-stream.ts';
export {
  DELIVERY_STATE,
  type DeliveryStatus,
  EVENT_KIND,
  EVENT_STATE,
  type EventKind,
  isFinal,
  type RunStatus,
  TURN_REASON,
  TURN_STATE,
  type TurnReason,
  type TurnStatus,
  WORKER_STATE,
  type WorkerStatus,
} from './states.ts';
export { inStreamOrder, STREAM_EVENTS, type StreamEventType } from './streams/event-types.ts';
export { cleanJson, cleanText, hasUserInfo, isHeaderText, type TextRepairs } from './text.ts';
export { contextTokens, tokenCost } from './usage/tokens.ts';
