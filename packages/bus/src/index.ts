export { connectBus } from './bus-link.ts';
export { NatsControlSignals } from './control-signals.ts';
export { LaneWatchers } from './lane-watchers.ts';
export { NatsLiveStream } from './live-stream.ts';
export { PartitionHints } from './partition-hints.ts';
export { NatsSnapshots } from './snapshots.ts';
