export type { InboundEvent, OpenAccount, RawRequest } from './channel.ts';
export { channelOf, OpenAccounts } from './registry.ts';
