export { type ActivationConsumer, ActivationConsumers } from './activation-consumers.ts';
export { RedisLaneLocks } from './lane-locks.ts';
export { QueuedWakeUps } from './queued-wake-ups.ts';
export { RedisRateLimits } from './rate-limits.ts';
export { openRedis, type RedisLink } from './redis-link.ts';
export { RedisTenantSlots } from './tenant-slots.ts';
