export { faultOf } from '../session/model/faults.ts';
export { World, type WorldOptions } from '../session/model/world.ts';
export { SeededIds } from './seeded-ids.ts';
export { recordingCounter, recordingLogger, silentLogger } from './telemetry.ts';
export { settled, VirtualClock } from './virtual-clock.ts';
