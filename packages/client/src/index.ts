export { ApiError, BadAnswerError, ConnectionError, DeadlineError, TurnkeeperError } from './errors.ts';
export type { StreamOptions } from './event-stream.ts';
export type { Listing, Page } from './listing.ts';
export { LiveText } from './live-text.ts';
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
export type { StreamEvent } from './stream-events.ts';
export type { CallOptions, TurnkeeperOptions, WriteOptions } from './transport.ts';
export { Turnkeeper } from './turnkeeper.ts';
