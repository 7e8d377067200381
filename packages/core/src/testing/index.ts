export { SeededIds } from './seeded-ids.ts';
export { settled, VirtualClock } from './virtual-clock.ts';
