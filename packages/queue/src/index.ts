export {
  type ActivationConsumer,
  ActivationConsumers,
  type ActivationConsumersOptions,
  type ConsumeOptions,
} from './activation-consumers.ts';
export { type LaneLocksOptions, RedisLaneLocks } from './lane-locks.ts';
export { QueuedWakeUps, type QueuedWakeUpsOptions } from './queued-wake-ups.ts';
export { type RateLimitsOptions, RedisRateLimits } from './rate-limits.ts';
export { openRedis, type RedisLink, type RedisLinkOptions } from './redis-link.ts';
export { RedisTenantSlots } from './tenant-slots.ts';
