export { type BusLink, type BusLinkOptions, connectBus } from './bus-link.ts';
export { NatsControlSignals } from './control-signals.ts';
export { NatsLiveStream, type NatsLiveStreamOptions } from './live-stream.ts';
export { type ListenOptions, PartitionHints, type PartitionHintsOptions } from './partition-hints.ts';
