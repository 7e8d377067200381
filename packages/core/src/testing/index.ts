export { SeededIds } from './seeded-ids.ts';
export { recordingCounter, recordingLogger, silentLogger } from './telemetry.ts';
export { settled, VirtualClock } from './virtual-clock.ts';
