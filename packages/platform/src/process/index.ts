export { systemClock, systemIds } from './clock.ts';
export { internalListenerOptions, processTable } from './config.ts';
export { createCrashPoints } from './crash-points.ts';
export { type GuardedChild, startGuarded } from './guarded-child.ts';
export { createKit, type Kit } from './kit.ts';
export { createProbeServer, type ProbeServer } from './probe-server.ts';
export type { Readiness } from './readiness.ts';
export { runProcess } from './run-process.ts';
export type { Compose, Listening, ProcessMessage, Service } from './service.ts';
