export { OperatorConfigStore, type OperatorConfigStoreOptions } from './admin/operator-config-store.ts';
export { TenantConfigStore, type TenantConfigStoreOptions } from './admin/tenant-config-store.ts';
export { PostgresControlStore } from './control-store.ts';
export {
  Database,
  type DatabaseOptions,
  openDatabase,
  type PoolStats,
  type Role,
  type Statement,
  type Transaction,
} from './database.ts';
export { PostgresDeliveryStore } from './delivery-store.ts';
export { type DatabaseReport, inspectDatabase } from './inspect.ts';
export { PostgresIntakeStore } from './intake-store.ts';
export { checkInvariants, type InvariantReport, type Violation } from './invariants.ts';
export { PostgresLaneStore } from './lane-store.ts';
export { type Configs, type ConfigsOptions, openConfigs } from './lookup/configs.ts';
export { checkRoles, checkSchema, type MigrateOptions, type MigrateResult, migrate, SCHEMA_RANGE } from './migrate.ts';
export { PostgresOwnershipStore } from './ownership-store.ts';
export { ClusterStore } from './read/cluster-store.ts';
export { RunStore, type RunStoreOptions } from './read/run-store.ts';
export { SessionStore } from './read/session-store.ts';
export { TimelineStore } from './read/timeline-store.ts';
export { PostgresRepairStore } from './repair-store.ts';
export { Sealing } from './seal/sealing.ts';
export { serverKeyWrap } from './seal/server-key.ts';
export { toStoreError } from './store-error.ts';
export { untilReady } from './until-ready.ts';
