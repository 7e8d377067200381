export type { HttpSender, InboundEvent, OpenAccount, RawRequest } from './channel.ts';
export { channelOf, OpenAccounts } from './registry.ts';
export { commandIn, parseMessageFrame } from './webchat/frames.ts';
