export { ApiError, BadAnswerError, ConnectionError, DeadlineError, TurnkeeperError } from './errors.ts';
export type { StreamOptions } from './event-stream.ts';
export type { Listing, Page } from './listing.ts';
export { LiveText } from './live-text.ts';
export type {
  Account,
  AccountChanges,
  Agent,
  AgentChanges,
  Configured,
  CreatedKey,
  Key,
  KeyChanges,
  NewAccount,
  NewAgent,
  NewKey,
  VersionOptions,
} from './resources/configured.ts';
export type { EventStreamOptions } from './resources/events.ts';
export type { Upload, UploadOptions } from './resources/files.ts';
export type { InputAnswer } from './resources/inputs.ts';
export type { Accepted, NewMessage } from './resources/messages.ts';
export type { Run, Timeline } from './resources/runs.ts';
export type {
  HistoryMessage,
  NewOutbound,
  Outbound,
  Session,
  SessionControl,
  SessionStreamOptions,
} from './resources/sessions.ts';
export type { ClientToken, NewClientToken, StreamTicket } from './resources/visitors.ts';
export type { EventFilter, StreamEvent } from './stream-events.ts';
export type { CallOptions, FileBody, TurnkeeperOptions, WriteOptions } from './transport.ts';
export { Turnkeeper } from './turnkeeper.ts';
