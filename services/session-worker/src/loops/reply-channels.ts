import type { HttpSender, OpenAccount, OpenAccounts } from '@turnkeeper/channels';
import {
  type AccountConfig,
  type AccountConfigs,
  type AccountId,
  AppError,
  type Clock,
  type Counter,
  type DueDelivery,
  isLedgerOn,
  type LaneRef,
  type ReplyChannels,
  type SendGate,
  type SentReply,
  StoreError,
  type Tracer,
} from '@turnkeeper/core';
import type { Egress } from '@turnkeeper/platform/egress';

export interface AccountChannelsOptions {
  readonly accounts: Pick<AccountConfigs, 'get'>;
  readonly openAccounts: Pick<OpenAccounts, 'of'>;
  readonly egress: Pick<Egress, 'send'>;
  readonly clock: Clock;
  readonly tracer: Tracer;
  /** Requests that left. */
  readonly sent: Counter;
}

const READ_AGAIN_MS = 500;

/** The ways out of this worker: an account's channel, over the guarded egress. */
export class AccountChannels implements ReplyChannels {
  readonly #options: AccountChannelsOptions;

  constructor(options: AccountChannelsOptions) {
    this.#options = options;
  }

  async canSend({ tenantId }: LaneRef, accountId: AccountId): Promise<boolean> {
    const config = await this.#options.accounts.get(tenantId, accountId);
    if (config === null) return true; // deleted meanwhile: the send says so
    const account = await this.#open(config);
    return typeof account === 'string' || account.egress !== null;
  }

  async send(delivery: DueDelivery, gate: SendGate, signal: AbortSignal): Promise<SentReply | null> {
    const { egress, clock, tracer, sent } = this.#options;
    const { tenantId } = delivery.lane;
    const config = await this.#read(delivery, signal);
    if (config === null) return failed('unknown', 'account_not_found');
    const account = await this.#open(config);
    if (typeof account === 'string') return failed(config.channel, account);
    if (account.egress === null) return failed(config.channel, 'config_missing');
    if (!(await gate.mayBegin())) return null;
    const http: HttpSender = {
      send: (request) => {
        sent.inc();
        const headers =
          span.traceparent === null ? request.headers : { ...request.headers, traceparent: span.traceparent };
        return egress.send(tenantId, { ...request, headers, mayStart: gate.mayStillBegin });
      },
    };
    const span = tracer.start(`deliver ${config.channel}`, {
      ...{ parent: delivery.traceparent, attributes: { deliveryId: delivery.messageId, attempt: delivery.attempt } },
    });
    let code: string | undefined = 'internal';
    try {
      const outcome = await account.egress.send(delivery, { http, nowMs: clock.nowMs(), signal });
      code = 'code' in outcome ? outcome.code : undefined;
      return { platform: config.channel, outcome, ledgerEnabled: isLedgerOn(settingOf(config)) };
    } finally {
      span.end(code);
    }
  }

  /** Waits while the store is away: nothing has been sent, so nothing is lost by waiting. */
  async #read({ lane, accountId }: DueDelivery, signal: AbortSignal): Promise<AccountConfig | null> {
    for (;;) {
      try {
        return await this.#options.accounts.get(lane.tenantId, accountId);
      } catch (error) {
        if (!(error instanceof StoreError) || !error.retryable || signal.aborted) throw error;
        await this.#options.clock.sleep(READ_AGAIN_MS, signal);
      }
    }
  }

  /** The account, or the code of why it cannot be used. */
  async #open(config: AccountConfig): Promise<OpenAccount | string> {
    try {
      return await this.#options.openAccounts.of(config);
    } catch (error) {
      if (error instanceof AppError) return error.code;
      throw error;
    }
  }
}

function failed(platform: string, code: string): SentReply {
  return { platform, outcome: { result: 'failed', code }, ledgerEnabled: true };
}

function settingOf({ options: { ledger } }: AccountConfig): string | boolean | null {
  return typeof ledger === 'string' || typeof ledger === 'boolean' ? ledger : null;
}
