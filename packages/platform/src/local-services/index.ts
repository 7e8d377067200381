export { localServicesTable } from './config.ts';
export { unpackDebian } from './debian-packages.ts';
export { freePort } from './free-port.ts';
export { type LocalServices, type LocalServicesOptions, startLocalServices } from './start.ts';
export type { ServiceName } from './types.ts';
