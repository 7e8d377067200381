export type {
  Channel,
  ChannelAccount,
  ChannelEgress,
  HttpSender,
  InboundEvent,
  OpenAccount,
  RawRequest,
  Rejected,
} from './channel.ts';
export { channelOf, OpenAccounts } from './registry.ts';
