import { AppError } from '@turnkeeper/core';
import type { Channel, ChannelAccount } from '../channel.ts';
import { webhookIngress } from './inbound.ts';
import { checkAccount, parseOptions, SECRET_NAMES, type WebhookOptions } from './options.ts';
import { webhookEgress } from './outbound.ts';
import { keyOfSecret } from './standard-webhooks.ts';

/** Generic webhooks: any service that signs its POSTs talks to an agent; replies go back as signed POSTs. */
export const webhook: Channel = {
  manifest: { id: 'webhook', apiVersion: 1, secretNames: SECRET_NAMES },
  checkAccount,
  open: (account) => {
    const options = readOptions(account);
    const { secret, replySecret } = account.secrets;
    const key = keyOfSecret(replySecret ?? secret ?? '');
    return {
      ingress: webhookIngress({ name: account.name, options, secret }),
      egress: options.replyUrl === undefined || key === null ? null : webhookEgress({ url: options.replyUrl, key }),
    };
  },
};

function readOptions({ name, options }: ChannelAccount): WebhookOptions {
  const parsed = parseOptions(options);
  if (parsed.success) return parsed.data;
  throw new AppError({
    code: 'config_invalid',
    message: `the stored options of account ${name} are none of a webhook`,
  });
}
