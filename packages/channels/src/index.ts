export type { HttpSender, InboundEvent, OpenAccount, RawRequest } from './channel.ts';
export { channelOf, OpenAccounts } from './registry.ts';
export { commandIn, type MessageFrame, parseMessageFrame, type UploadReference } from './webchat/frames.ts';
