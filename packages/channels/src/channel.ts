import type { AppError, DueDelivery, SendOutcome } from '@turnkeeper/core';

/** What is true of a channel whatever the account. */
export interface ChannelManifest {
  /** As `channel` in an account, and `platform` in its sources. */
  readonly id: string;
  /** Major version of this interface. */
  readonly apiVersion: 1;
  readonly secretNames: readonly string[];
}

/** An account as people write it, and the names of the secrets it keeps from before. */
export interface AccountDraft {
  readonly options: unknown;
  readonly secrets: Readonly<Record<string, string>>;
  readonly keptSecrets: readonly string[];
}

/** One version of an account, with its secrets unsealed. */
export interface ChannelAccount {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, string>>;
}

/** A way to talk to one kind of platform. Holds nothing: accounts, time and the network come in with each call. */
export interface Channel {
  readonly manifest: ChannelManifest;
  /**
   * Returns the options with every default filled in.
   * @throws AppError `config_invalid`, with a pointer below `/options` or `/secrets` for each thing that is wrong
   */
  checkAccount(draft: AccountDraft): Readonly<Record<string, unknown>>;
  /** @throws AppError `config_invalid` when the stored options are none of this channel's */
  open(account: ChannelAccount): OpenAccount;
}

/** An account ready for use: what it costs to read its options is paid once per version. */
export interface OpenAccount {
  /** Null when nothing comes over `/hooks`. */
  readonly ingress: ChannelIngress | null;
  /** Null when nothing can be sent: a reply is then proven by its commit. */
  readonly egress: ChannelEgress | null;
}

export interface RawRequest {
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly rawBody: Uint8Array;
  readonly receivedAtMs: number;
}

/** Nothing of the request may be kept. `reason` is the word of the metrics and fixtures, `error` the answer. */
export interface Rejected {
  readonly result: 'rejected';
  readonly reason: 'signature' | 'stale' | 'malformed' | 'too_large';
  readonly error: AppError;
}

export interface Verified {
  readonly result: 'verified';
  readonly rawBody: Uint8Array;
  readonly receivedAtMs: number;
  /** The sender's own id of this delivery, where it gives one. */
  readonly deliveryId: string | null;
}

export interface InboundEvent {
  readonly platform: string;
  readonly chatType: string;
  readonly chatId: string;
  readonly threadId: string | null;
  readonly userId: string | null;
  readonly userIdAlt: string | null;
  readonly userName: string | null;
  readonly messageId: string | null;
  readonly text: string;
  readonly attachments: readonly unknown[];
  readonly isCommand: boolean;
  readonly mentionsBot: boolean;
  /** The sender is a bot itself; absent: a person, as far as is known. */
  readonly isBot?: true;
}

export interface InboundDelivery {
  /** Unique within the account. */
  readonly dedupeKey: string;
  readonly event: InboundEvent;
}

export interface Parsed {
  readonly result: 'parsed';
  readonly deliveries: readonly InboundDelivery[];
}

/** What became of a parsed request. */
export type StoredOutcome = { readonly status: 'accepted' | 'duplicate'; readonly eventId: string };

export interface HttpReply {
  readonly status: number;
  readonly body: Readonly<Record<string, string>>;
}

/** Pure: no network, no clock, no state. The host verifies, parses, stores durably, and only then replies. */
export interface ChannelIngress {
  /** Over the raw bytes, in constant time. */
  verify(request: RawRequest): Verified | Rejected;
  parse(verified: Verified): Parsed | Rejected;
  reply(outcome: StoredOutcome): HttpReply;
}

/** The part of a row in `sending` that is sent. */
export type OutboundDelivery = Pick<
  DueDelivery,
  | 'messageId'
  | 'attempt'
  | 'recovered'
  | 'runId'
  | 'turnId'
  | 'sessionKey'
  | 'seq'
  | 'startedAt'
  | 'finishedAt'
  | 'body'
>;

/** The way out that the host gives: one guarded POST, whatever its answer. Without an answer it throws a SendFailure. */
export interface HttpSender {
  send(request: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly timeoutMs: number;
    readonly signal?: AbortSignal;
  }): Promise<{ readonly status: number; readonly headers: Readonly<Record<string, string>> }>;
}

export interface SendFailure extends AppError {
  /** In a word: `connect`, `timeout`, `reset`, … */
  readonly kind: string;
  /** False: the request certainly did not reach the other side. */
  readonly mayHaveArrived: boolean;
}

export interface SendContext {
  readonly http: HttpSender;
  readonly nowMs: number;
  /** Aborted when the worker may no longer send. */
  readonly signal: AbortSignal;
}

export interface ChannelEgress {
  /** One call is one attempt: no waiting, no retry, no queue. Throws only on a fault of the program. */
  send(delivery: OutboundDelivery, context: SendContext): Promise<SendOutcome>;
}
