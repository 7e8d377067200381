export type { HttpSender, InboundEvent, OpenAccount, RawRequest } from './channel.ts';
export { channelOf, OpenAccounts } from './registry.ts';
